// Transactions: settlements and messages that the node accepts all together, or refuses all together.
// Law 1: a transaction gets its numbers when it is handed to the publisher. A COMMIT is repeated byte for byte after a
//        reconnect, in the order of its first sending; its messages are never resent before it is answered.
// Law 2: at another node the client asks for the outcome. Until that is known, or the call has failed with IN_DOUBT,
//        later messages of its domains wait.
import { MeshError } from './handshake.js';
import { check, directly, intoQueue } from './messages.js';
import { CALL, COMMIT, ENVELOPE_BYTES, ENVELOPE_MESSAGES, MIB, PERSISTENT, SENDS, packList, rangesOf } from './wire.js';

const REQUESTS = 2 ** 31; // added to the number of a transaction, apart from all other requests
const MOST_OPEN = 64, MOST_OPERATIONS = 10_000, MOST_ENVELOPES = 1000;
const AGAIN = 1000; // ms until a question without an answer is repeated
const FINAL = ['OUTCOME_EXPIRED', 'UNKNOWN_VERB', 'FORGED_VISIT', 'MALFORMED', 'BAD_QUERY', 'NOT_ALLOWED'];
const ACK = 0, NACK = 1;

/** The operations of one transaction. They do no I/O; bad arguments throw. */
export class Transaction {
  jobs = []; // {job, row, what, delay, operation}
  groups = []; // {domain, flags, to, put, messages, operation}
  order = []; // [group, place] of each message
  promise = null; // of its outcome, once it is handed over
  #count = 0;
  #bytes = 0;
  #last = new Map(); // domain -> its last group

  /** `make(key, content, terms, own)` returns a message; `most` is the limit of bytes. */
  constructor(make, most) {
    Object.assign(this, { make, most });
  }

  ack(job) {
    this.#settle(job, ACK, 0);
  }

  nack(job, { delay = 0 } = {}) {
    this.#settle(job, NACK, Math.ceil(1000 * delay));
  }

  publish(key, content, { domain = '', persistent = true, ...own } = {}) {
    this.#add(key, content, { to: '', domain, flags: persistent ? PERSISTENT : 0, put: null }, own);
  }

  put(queue, content, options = {}) {
    this.#add(options.key ?? '', content, intoQueue(queue, options), { ...options, priority: 5 });
  }

  send(destination, content, options = {}) {
    const terms = directly(destination, { persistent: true, ...options });
    check(terms.domain !== SENDS, 'BAD_ARGUMENT', 'a transaction sends to clients and sessions only');
    this.#add(options.key ?? '', content, { put: null, ...terms }, options);
  }

  #settle(job, what, delay) {
    check(job?.consumer, 'BAD_ARGUMENT', 'a transaction settles jobs of queues');
    const row = job.consumer.rowOf(job);
    check(!this.jobs.some((each) => each.job === job), 'SETTLED', 'the transaction settles this message already');
    check(row.node === (this.jobs[0]?.row ?? row).node, 'TWO_NODES', 'another node delivered another job of it');
    this.jobs.push({ job, row, what, delay, operation: this.#next() });
  }

  #add(key, content, { domain, flags, to, put }, own) {
    const message = this.make(key, content, to, own);
    const size = message.properties.length + message.content.length;
    const name = JSON.stringify([flags, to, put]);
    let group = this.#last.get(domain);
    const isFull = group && (group.messages.length >= ENVELOPE_MESSAGES || group.bytes >= ENVELOPE_BYTES);
    const isNew = !group || isFull || group.name !== name;
    check((this.#bytes += size) <= this.most, 'TOO_LARGE', `a transaction of more than ${this.most} bytes`);
    check(this.groups.length + isNew <= MOST_ENVELOPES, 'TOO_LARGE', `more than ${MOST_ENVELOPES} envelopes`);
    const operation = this.#next();
    if (isNew) this.groups.push((group = { name, domain, flags, to, put, messages: [], bytes: 0, operation }));
    this.#last.set(domain, group);
    this.order.push([this.groups.indexOf(group), group.messages.length]);
    group.messages.push(message);
    group.bytes += size;
  }

  #next() {
    check(this.#count < MOST_OPERATIONS, 'TOO_LARGE', `more than ${MOST_OPERATIONS} operations`);
    return this.#count++;
  }

  /** The settlements as COMMIT has them, each with the index of its first operation. */
  get settles() {
    const found = new Map();
    for (const { job, row, what, delay, operation } of this.jobs) {
      const terms = [job.consumer.address.slice('queue/'.length), row.boot, what, delay, !job.persistent, job.stream];
      const name = JSON.stringify(terms);
      if (!found.has(name)) found.set(name, { terms, numbers: [], operation });
      found.get(name).numbers.push(job.number);
    }
    return [...found.values()];
  }
}

/** A COMMIT that is not answered: a unit of the publisher, with its envelopes. */
class Commit {
  isSent = false; // on any connection
  isAnswered = false;
  isDoubtful = false; // the session is at another node, or was
  isAwaited = true; // its call has not failed with IN_DOUBT

  constructor(owner, number, transaction) {
    Object.assign(this, { owner, number, transaction, envelopes: [], node: '' });
    this.promise = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.promise.catch(() => {}); // a caller need not wait for it
  }

  send() {
    this.owner.send(this);
  }

  refuse(error) {
    this.isAnswered = true;
    this.envelopes.forEach((envelope) => envelope.refuse(error));
    this.reject(error);
  }
}

/** The transactions of one client. */
export class Transactions {
  #open = new Map(); // by number, in order
  #count = 0;
  #rooms = []; // called when another transaction may be handed over

  constructor({ session, publisher, calls, visits }) {
    Object.assign(this, { session, publisher, calls, visits });
  }

  get isBusy() {
    return this.#open.size > 0;
  }

  /** Commit the operations of `work(transaction)`. Resolves with the answers to its messages, in their order. */
  async run(work, make, timeout) {
    const { maxContent, transactionBytes } = this.session;
    const transaction = new Transaction(make, Math.min(maxContent, transactionBytes)); // in one message
    await work(transaction);
    if (!transaction.jobs.length && !transaction.groups.length) return (transaction.promise = Promise.resolve([]));
    let commit = null;
    const done = (late) => this.#commit(transaction, (it) => (commit = it), late);
    return within(timeout, () => this.#late(commit, timeout), done);
  }

  /** Resolves with 'committed' or 'refused' when the outcome of a transaction is known. */
  async outcome(transaction, timeout) {
    check(transaction instanceof Transaction, 'BAD_ARGUMENT', 'only a transaction has an outcome');
    check(transaction.promise, 'CLOSED', 'the transaction was not committed');
    const late = () => new MeshError('IN_DOUBT', `the outcome is not known after ${timeout} s; ask again later`);
    try {
      await within(timeout, late, () => transaction.promise);
      return 'committed';
    } catch (error) {
      if (error.code === 'IN_DOUBT') throw error;
      return 'refused';
    }
  }

  #late(commit, timeout) {
    if (!commit) return new MeshError('TIMEOUT', `the transaction was not sent within ${timeout} s`);
    commit.isAwaited = false;
    this.publisher.release();
    return new MeshError('IN_DOUBT', `no answer within ${timeout} s; the transaction may still be committed`);
  }

  async #commit(transaction, handed, late) {
    while (!this.session.isUp || this.#open.size >= MOST_OPEN) {
      await Promise.race([late, new Promise((resolve) => this.#rooms.push(resolve))]);
    }
    const commit = this.#hand(transaction);
    handed(commit);
    const entries = await commit.promise;
    return Promise.all(transaction.order.map(([group, place]) => entries[group][place].first.promise));
  }

  #hand(transaction) {
    const { uuid } = this.session.node;
    for (const { job, row } of transaction.jobs) {
      job.consumer.rowOf(job);
      check(row.node === uuid, 'DELIVERED_ELSEWHERE', 'the session has moved: ack the job outside of a transaction');
    }
    const commit = new Commit(this, ++this.#count, transaction);
    commit.node = uuid;
    transaction.promise = commit.promise;
    this.#open.set(commit.number, commit);
    transaction.jobs.forEach(({ job }) => job.consumer.hold(job));
    this.publisher.commit(commit, transaction.groups);
    return commit;
  }

  /** The number below which all transactions at a node are answered. */
  #low(node) {
    const ours = [...this.#open.values()].filter((commit) => commit.node === node);
    return Math.min(this.#count + 1, ...ours.map(({ number }) => number));
  }

  send(commit) {
    const settles = commit.transaction.settles.map(({ terms, numbers }) => {
      return [...terms.slice(0, -1), Buffer.from(terms.at(-1), 'hex'), rangesOf(numbers)];
    });
    const sealed = commit.envelopes.map((envelope) => envelope.sealed);
    const bodies = Buffer.concat(sealed.flatMap(({ frames }) => frames.slice(1)));
    const chunks = [];
    for (let at = 0; at < Math.max(1, bodies.length); at += MIB) chunks.push(bodies.subarray(at, at + MIB));
    const command = [
      COMMIT, REQUESTS + commit.number, commit.number, this.#low(commit.node), 'commit', settles,
      sealed.map(({ bytes }) => bytes),
    ];
    const frames = sealed.length ? [packList(sealed.map(({ frames: [header] }) => header)), ...chunks] : [];
    commit.isSent = this.session.send(command, frames) || commit.isSent;
  }

  // --- answers -----------------------------------------------------------------------------------

  /** Handle a REPLY. Return false if it answers no COMMIT. */
  replied([, request, value = null, code = '', text = '']) {
    const commit = this.#open.get(request - REQUESTS);
    if (commit && !commit.isDoubtful) this.#ended(commit, { answers: value, code, text, index: value });
    return request > REQUESTS;
  }

  #ended(commit, { answers, code = '', text = '', index = -1 }) {
    this.#open.delete(commit.number);
    commit.isAnswered = true;
    const isInDoubt = code === 'IN_DOUBT';
    for (const { job } of commit.transaction.jobs) job.consumer.release(job, !code || isInDoubt);
    const { envelopes, transaction } = commit;
    if (code) {
      const error = new MeshError(code, text);
      const operations = [...transaction.settles, ...transaction.groups].map(({ operation }) => operation);
      error.operation = operations[Number(index)] ?? -1;
      envelopes.forEach((envelope) => this.publisher.refused(envelope, error));
      commit.reject(error);
    } else {
      envelopes.forEach(({ domain, first, last }, i) => this.publisher.answered([domain, first, last, ...answers[i]]));
      commit.resolve(envelopes.map(({ entries }) => entries));
    }
    this.publisher.ended(commit);
    this.#rooms.splice(0).forEach((resolve) => resolve());
  }

  // --- other nodes -------------------------------------------------------------------------------

  /** After WELCOME, and after ATTACH was sent. */
  welcomed() {
    const { node } = this.session;
    const { certificate } = this.visits;
    const isHere = certificate?.[3].toString('hex') === node.uuid;
    for (const commit of [...this.#open.values()]) {
      if (!commit.isSent) commit.node = node.uuid;
      commit.isDoubtful ||= commit.node !== node.uuid;
      if (commit.isDoubtful && isHere) this.#ask(commit, certificate);
      else if (commit.isDoubtful) this.#ended(commit, UNKNOWN_OUTCOME);
    }
    this.#rooms.splice(0).forEach((resolve) => resolve());
  }

  #ask(commit, certificate) {
    const { node, number: count } = commit;
    const args = { certificate, target: Buffer.from(node, 'hex'), count, low: this.#low(node) };
    const refused = ({ code }) => {
      if (FINAL.includes(code)) this.#ended(commit, UNKNOWN_OUTCOME);
      else setTimeout(() => this.#isAsked(commit, certificate) && this.#ask(commit, certificate), AGAIN).unref();
    };
    const ended = (outcome) => this.#ended(commit, outcome);
    this.calls.askOnce((request) => [CALL, request, 'tx_outcome', args], ended, refused);
  }

  #isAsked(commit, certificate) {
    return this.session.isUp && this.#open.has(commit.number) && certificate === this.visits.certificate;
  }

  fail(error) {
    this.#open.forEach((commit) => commit.refuse(new MeshError('IN_DOUBT', error.message)));
    this.#open.clear();
    this.#rooms.splice(0).forEach((resolve) => resolve());
  }
}

/** Resolve as the promise of `begin(late)`, or reject with `error()` after `timeout` s, as the promise `late` does. */
async function within(timeout, error, begin) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(error()), 1000 * timeout)));
  try {
    return await Promise.race([late, begin(late)]);
  } finally {
    clearTimeout(timer);
  }
}

const UNKNOWN_OUTCOME = { code: 'IN_DOUBT', text: 'the node does not know whether the transaction happened' };
