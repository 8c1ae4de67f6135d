/** `<tq-lineage>`: the tree that an activity is in, as a list with bars or as a graph; the address has which. */

import { amend, here } from "../core/address.js";
import { h, redraw } from "../core/dom.js";
import { choice } from "./status.js";
import "./graph.js";
import "./tree.js";

const VIEWS = [["", "List"], ["graph", "Graph"]];

class Lineage extends HTMLElement {
  #made = {};

  /** Show these nodes, depth first; `current` is the id that one looks at. */
  show(nodes, current) {
    const as = here().params.as === "graph" ? "graph" : "";
    const view = (this.#made[as] ??= h(as ? "tq-graph" : "tq-tree"));
    const pick = (other) => {
      amend({ as: other });
      this.show(nodes, current);
    };
    redraw(this, view);
    view.show(nodes, current, choice("Show as", VIEWS, as, pick));
  }
}

customElements.define("tq-lineage", Lineage);
