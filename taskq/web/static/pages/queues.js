/** Queues: what they hold, who serves them, how they fare. */

import { Loads } from "../parts/loads.js";

class Queues extends Loads {
  title = "Queues";
  kind = "queues";
}

customElements.define("tq-queues", Queues);
export default Queues;
