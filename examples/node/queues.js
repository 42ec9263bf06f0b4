// Consumers of queues, over all connections.
// Law 1: the k-th message of an epoch has the delivery tag k. Messages kept from an earlier epoch come first, in the
//        order in which CONSUME lists them.
// Law 2: a message that arrives while no epoch is open belongs to an older one.
// Law 3: a message is settled once. An unanswered settlement is sent again in every new epoch.
// Law 4: a message stays with the node that delivered it; another node is asked to settle it there.
import { MeshError } from './handshake.js';
import { CONSUME, Message, PUTS, SETTLE, rangesOf } from './wire.js';

const MOST = 1000; // messages that CONSUME lists
const NOT_LEAVING = 2 ** 32 - 1; // the field `begun`
const NACK = 1, REJECT = 2;

/** A message of a queue. Settle it once: each method resolves when the node has stored the outcome, and rejects with
 *  LEASE_OVER if the message is no longer this consumer's. `redelivered`: it may have been processed before. */
export class Delivery extends Message {
  /** Delete the message: its work is done. */
  ack() {
    return this.consumer.settle(this, 0);
  }

  /** Return the message to the queue. `delay`: s before it is delivered again. */
  nack({ delay = 0 } = {}) {
    return this.consumer.settle(this, NACK, Math.ceil(1000 * delay));
  }

  /** Move the message to the dead letters. */
  reject(reason = '') {
    return this.consumer.settle(this, REJECT, 0, reason);
  }
}

/** A consumer of one queue: `for await (const job of consumer) { …; await job.ack(); }`. A message that is not settled
 *  when the consumer is closed returns to the queue. `leave(consumer)` ends it at the node. */
export class Consumer {
  isAsked = false; // whether CONSUME waits for its REPLY
  #epoch = null; // null: none is open
  #last = 0; // last delivery tag
  #begun = 0; // last delivery tag that was begun
  #jobs = new Map(); // unsettled delivery -> {job, node, tag, isBegun}; the tag 0: none in this epoch
  #waiting = []; // rows that are not begun
  #settlements = new Set(); // without an answer
  #listed = []; // rows that CONSUME lists
  #isPlanned = false;
  #wake = null;
  #end = null;

  constructor(session, calls, number, queue, { prefetch = 256, selector = '' }, leave) {
    Object.assign(this, { number, address: PUTS + queue, prefetch, selector, leave });
    Object.defineProperties(this, { session: { value: session }, calls: { value: calls } });
  }

  // --- epochs ------------------------------------------------------------------------------------

  /** CONSUME, which begins an epoch, or ends the consumer with the credit 0. */
  command(request, credit = this.prefetch) {
    const { number, address, selector } = this;
    if (!credit) return [CONSUME, request, number, address, 0, false, this.#begun];
    const mine = [...this.#jobs.values()].filter(({ isBegun }) => isBegun);
    const settled = [...this.#settlements].map(({ row }) => row); // probably stored, so these are left out first
    const begun = [...mine, ...settled.slice(0, Math.max(0, MOST - this.#jobs.size))];
    this.#listed = [...begun, ...this.#waiting].slice(0, MOST);
    this.#begun = begun.length;
    const { held, heldAt } = listed(this.#listed);
    const { words, node } = this.session;
    const isMoved = words.includes('visits') && heldAt.some((id) => id.toString('hex') !== node.uuid);
    return [CONSUME, request, number, address, credit, false, NOT_LEAVING, selector, 0, held, isMoved ? heldAt : []];
  }

  opened({ epoch, void: lost = [] }) {
    this.isAsked = false;
    this.#epoch = epoch;
    for (const row of this.#jobs.values()) row.tag = 0;
    for (const { row } of this.#settlements) row.tag = 0;
    this.#listed.forEach((row, i) => (row.tag = i + 1));
    this.#last = this.#listed.length;
    for (const { job, tag } of this.#jobs.values()) if (!tag || isIn(tag, lost)) this.#jobs.delete(job);
    this.#waiting = this.#waiting.filter(({ job }) => this.#jobs.has(job));
    this.#tell();
    this.#wake?.();
  }

  /** End the epoch with its connection. */
  lost() {
    this.#epoch = null;
    this.#settlements.forEach((each) => Object.assign(each, { isSent: false, wasSent: each.wasSent || each.isSent }));
  }

  arrived(messages, { tries }) {
    if (this.#epoch === null) return;
    messages.forEach((message, i) => {
      const earlier = tries[i] ?? 0;
      const job = message.as(Delivery, { redelivered: earlier > 0, attempt: earlier + 1 });
      Object.defineProperties(job, { consumer: { value: this }, isSettled: { value: false, writable: true } });
      const { uuid: node, boot } = this.session.node;
      const row = { job, node, boot, tag: ++this.#last, isBegun: false };
      this.#jobs.set(job, row);
      this.#waiting.push(row);
    });
    this.#wake?.();
  }

  /** Whether a delivery is not settled, or a settlement not answered. */
  get isBusy() {
    return this.#jobs.size > 0 || this.#settlements.size > 0;
  }

  // --- reading -----------------------------------------------------------------------------------

  async next() {
    while (!this.#end && (this.#epoch === null || !this.#waiting.length)) {
      await new Promise((resolve) => (this.#wake = resolve));
    }
    if (this.#end?.error) throw this.#end.error;
    if (this.#end) return { value: undefined, done: true };
    const row = this.#waiting.shift();
    row.isBegun = true;
    this.#begun = Math.max(this.#begun, row.tag);
    return { value: row.job, done: false };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async return() {
    await this.close();
    return { value: undefined, done: true };
  }

  /** Leave the queue when the settlements are answered. */
  async close() {
    if (this.#end) return;
    this.#end = { error: null };
    this.#wake?.();
    await Promise.allSettled([...this.#settlements].map(({ promise }) => promise));
    await this.leave(this);
  }

  /** End the consumer, because the client or the node ends it. */
  end(error) {
    this.#end ??= { error: error?.code === 'CLOSED' ? null : error };
    this.#wake?.();
    this.#jobs.clear();
    const settlements = [...this.#settlements];
    this.#settlements.clear();
    settlements.forEach(({ reject }) => reject(error ?? leaseOver()));
  }

  // --- settling ----------------------------------------------------------------------------------

  /** The row of a delivery that can be settled: {node, boot, …}. Throws SETTLED or LEASE_OVER. */
  rowOf(job) {
    if (job.isSettled) throw new MeshError('SETTLED', 'This message was settled before.');
    if (!this.#jobs.has(job)) throw leaseOver();
    return this.#jobs.get(job);
  }

  /** Keep a delivery for a transaction, so that CONSUME lists it. */
  hold(job) {
    this.rowOf(job);
    job.isSettled = true;
  }

  /** End the transaction of a delivery, which is settled with it or comes back. */
  release(job, isSettled) {
    if (isSettled) this.#jobs.delete(job);
    else job.isSettled = false;
  }

  /** Settle a delivery. The settlements of one turn of the event loop are sent together. */
  async settle(job, what, delay = 0, reason = '') {
    const row = this.rowOf(job);
    job.isSettled = true;
    this.#jobs.delete(job);
    const settlement = { row, what, delay, reason, isSent: false, wasSent: false };
    settlement.promise = new Promise((resolve, reject) => Object.assign(settlement, { resolve, reject }));
    this.#settlements.add(settlement);
    if (!this.#isPlanned) setImmediate(() => this.#tell());
    this.#isPlanned = true;
    return settlement.promise;
  }

  #tell() {
    this.#isPlanned = false;
    if (this.#epoch === null) return;
    const some = [...this.#settlements].filter(({ isSent }) => !isSent);
    for (const settlement of some.filter(({ row }) => !row.tag)) this.#answer(settlement, leaseOver(settlement));
    const sent = some.filter(({ row }) => row.tag);
    if (!sent.length) return;
    const done = rangesOf(sent.filter(({ what }) => !what).map(({ row }) => row.tag));
    const others = sent.filter(({ what }) => what);
    const entries = others.map(({ row, what, delay, reason }) => [row.tag, row.tag, what, delay, reason]);
    sent.forEach((settlement) => (settlement.isSent = true));
    this.calls.askOnce(
      (request) => [SETTLE, this.number, this.#epoch, done, [], [], request, entries],
      (late) => {
        const lost = late.flatMap(([first, last]) => [first, last]);
        sent.forEach((each) => this.#answer(each, isIn(each.row.tag, lost) ? leaseOver(each) : null));
      },
      (error) => sent.forEach((each) => this.#failed(each, error)),
    );
  }

  #answer(settlement, error) {
    if (!this.#settlements.delete(settlement)) return;
    if (error) settlement.reject(error);
    else settlement.resolve();
  }

  /** Reject a settlement that the node could not store. The message may be settled again. */
  #failed(settlement, error) {
    const { job } = settlement.row;
    job.isSettled = false;
    this.#jobs.set(job, settlement.row);
    this.#answer(settlement, error);
  }
}

/** The fields `held` and `held_at` of CONSUME for rows {job, node}, in their order. */
export function listed(rows) {
  const held = [];
  for (const { job: { stream, number }, node } of rows) {
    const entry = held.at(-1);
    if (entry?.stream !== stream || entry.node !== node || entry.ends.at(-1) >= number) {
      held.push({ stream, node, ends: [number, number] });
    } else if (entry.ends.at(-1) === number - 1) entry.ends[entry.ends.length - 1] = number;
    else entry.ends.push(number, number);
  }
  return {
    held: held.map(({ stream, ends }) => [Buffer.from(stream, 'hex'), ends]),
    heldAt: held.map(({ node }) => Buffer.from(node, 'hex')),
  };
}

/** Return whether a number is in the ranges first, last, first, last, … */
const isIn = (number, ends) => ends.some((first, i) => i % 2 === 0 && first <= number && number <= ends[i + 1]);

/** The error of a settlement. If it was sent to an earlier node or process, its answer was lost. */
const leaseOver = ({ wasSent } = {}) => {
  const lost = wasSent ? ' The answer to an earlier settlement was lost, so it may be settled.' : '';
  return new MeshError('LEASE_OVER', `This message no longer belongs to this consumer.${lost}`);
};
