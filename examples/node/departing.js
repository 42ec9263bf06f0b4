// Leaves a node that is drained: finishes the client's work there, and then visits another node.
// Law 1: from BYE on, new requests are kept for the next node. Replies and settlements are still sent.
// Law 2: when the work is finished, or WORK after BYE, all new messages are kept for the next node.
// Law 3: the client leaves when the node has answered all messages, or ANSWERS after law 2 began.
const WORK = 10_000; // ms
const ANSWERS = 2000; // ms
const CHECK = 20; // ms between two checks

/** The next stage: `requests` and `all` name what is kept for the next node, `''` means that the client leaves. */
export function nextStage(stage, isOver, isBusy, isAnswered) {
  if (stage === 'requests') return isOver || !isBusy ? 'all' : 'requests';
  return isOver || isAnswered ? '' : 'all';
}

/**
 * The departure of one client. `publisher.held` is the stage. `isBusy(first)` returns whether a delivery, a call, or a
 * request with a lower number than `first` is open, and `finish()` sends what the client still has for the node.
 */
export class Departing {
  #forward = null; // addresses of other nodes; null: the client stays
  #timer = null;

  constructor({ session, publisher, isBusy, finish }) {
    Object.assign(this, { session, publisher, isBusy, finish });
  }

  begin(forward, firstHeld) {
    if (this.#forward) return;
    this.#forward = forward;
    this.firstHeld = firstHeld;
    this.#enter('requests', WORK);
    this.#check();
  }

  /** Forget the departure, as the connection to the drained node has ended. */
  cancel() {
    clearTimeout(this.#timer);
    this.#forward = null;
    this.publisher.held = '';
  }

  #enter(stage, wait) {
    this.publisher.held = stage;
    this.until = Date.now() + wait;
  }

  #check() {
    const { held, isAnswered } = this.publisher;
    const stage = nextStage(held, Date.now() >= this.until, this.isBusy(this.firstHeld), isAnswered);
    if (!stage) return this.session.leave('the node is being drained', this.#forward);
    if (stage !== held) {
      this.finish();
      this.#enter(stage, ANSWERS);
    }
    this.#timer = setTimeout(() => this.#check(), CHECK);
  }
}
