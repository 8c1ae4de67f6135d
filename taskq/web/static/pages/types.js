/** Types: what they hold, who serves them, how they fare. */

import { Loads } from "../parts/loads.js";

class Types extends Loads {
  title = "Types";
  kind = "types";
}

customElements.define("tq-types", Types);
export default Types;
