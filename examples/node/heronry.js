// A client of a Heronry mesh. See README.md.
import { EventEmitter } from 'node:events';
import { Calls } from './calls.js';
import { Consumers } from './consumers.js';
import { Departing } from './departing.js';
import { check, directly, intoQueue, messageOf, query } from './messages.js';
import { findAccess, findNode } from './nodes.js';
import { Publisher } from './publisher.js';
import { Consumer } from './queues.js';
import { REPLIES, Requests, Service } from './services.js';
import { MeshError, Session } from './session.js';
import { Subscription } from './subscription.js';
import { Transactions } from './transactions.js';
import { Visits } from './visits.js';
import * as wire from './wire.js';

export { MeshError };

const ACK_AFTER = 2; // ms; one ACK covers everything until then

/**
 * Connect a client. After a restart of its node it resumes its session.
 * `name` is the client's name, `session` a fixed number from 1 up, or 0 for a new one each time, and `node` the
 * name or address of a node. Default: MESH_URL, else the only node on this machine. With an array of several nodes the
 * client connects to the first one that accepts it, and moves to another one, with its session, when its node ends.
 * Rejects if no node answers within `patience` ms.
 */
export async function connect(options = {}) {
  const { name = '', session = 0, node = '', patience = 5000, environ = process.env } = options;
  const client = new Client(name, session, [node].flat(), environ);
  await client.open(patience);
  return client;
}

/** Emits `connected` (true if the node has begun anew), `disconnected` (with the reason) and `session_moved` (with the
 *  names of the former and the new node, {from, to}). */
export class Client extends EventEmitter {
  #session;
  #publisher;
  #requests;
  #calls;
  #visits;
  #transactions;
  #departing;
  #subscriptions = new Map(); // by number
  #consumers;
  #numbers = 0; // of subscriptions, services and consumers; 0 is the inbox
  #ackTimer = null;
  #opening = null;
  #error = null; // reason of the end

  constructor(client, number, names, environ) {
    super();
    this.#session = new Session({
      client: client || 'nodejs',
      named: client !== '', // a default name has no inbox of its own
      number,
      names,
      findAddress: (text) => findNode(text || (this.#session.node?.name ?? ''), environ),
      findAccess: (address) => findAccess(address, environ),
      owner: {
        welcomed: (change) => this.#welcomed(change),
        heard: (command, envelopes) => this.#heard(command, envelopes),
        draining: (forward) => this.#departing.begin(forward, this.#publisher.next(wire.SENDS)),
        lost: (reason, wasUp) => this.#lost(reason, wasUp),
        failed: (error) => this.#end(error),
      },
    });
    this.#publisher = new Publisher(this.#session);
    const publish = (message, flags, to, until) => this.#publisher.publish(message, wire.SENDS, flags, to, { until });
    this.#requests = new Requests({ publish });
    this.#calls = new Calls(this.#session);
    this.#consumers = new Consumers(this.#calls, (address, error) => this.emit('unserved', address, error));
    this.#visits = new Visits(this.#session);
    const parts = { session: this.#session, publisher: this.#publisher, calls: this.#calls, visits: this.#visits };
    this.#transactions = new Transactions(parts);
    this.#departing = new Departing({
      session: this.#session,
      publisher: this.#publisher,
      isBusy: (first) => this.#isBusy(first),
      finish: () => this.#sayAck(),
    });
  }

  /** Name of the session, a destination for direct messages. */
  get name() {
    return this.#session.name;
  }

  /** Wait for WELCOME. Rejects after `patience` ms, with the last reason. */
  async open(patience) {
    const opening = (this.#opening = { reason: '' });
    const timer = setTimeout(() => this.#end(new MeshError('NO_NODE', opening.reason || 'no answer')), patience);
    const welcome = new Promise((resolve, reject) => Object.assign(opening, { resolve, reject }));
    this.#session.dial(0);
    try {
      await welcome;
    } finally {
      clearTimeout(timer);
      this.#opening = null;
    }
  }

  // --- publishing --------------------------------------------------------------------------------

  /**
   * Resolves with the first answer: {state, id, matched, note, final}. OK: the master has the message.
   * FORWARD_WARNING: the message waits for its master, `note` has the reason, and `final` is a promise of the final
   * answer. Rejects with a MeshError if the message is refused; `code` is the reason.
   * `headers` is an object or a list of pairs, `expiry` is in seconds. A string is marked as text.
   */
  async publish(key, content, { domain = '', persistent = false, ...own } = {}) {
    return this.#publish(key, content, { to: '', domain, flags: persistent ? wire.PERSISTENT : 0 }, own);
  }

  /** Send to a session or client, such as client/joe or /node/heron/client/joe/1, or to one server of an
   *  address, such as calc/sum. `delivery` is 'one' or 'all': of the servers of an address (default: one), or of the
   *  sessions of a client (default: all). For an array of destinations, resolves with {destination, answer, error} of
   *  each: either `answer` or `error` is null. */
  async send(destination, content, options = {}) {
    if (!Array.isArray(destination)) return this.#sendOne(destination, content, options);
    const sent = await Promise.allSettled(destination.map((to) => this.#sendOne(to, content, options)));
    return sent.map(({ value = null, reason = null }, i) => ({
      destination: destination[i],
      answer: value,
      error: reason,
    }));
  }

  async #sendOne(to, content, options) {
    return this.#publish(options.key ?? '', content, directly(to, options), options);
  }

  /** Put a message into a queue. `delay`: s before its first delivery; `group`: its messages go to one consumer at a
   *  time, in order. Resolves as `publish` does. */
  async put(queue, content, options = {}) {
    return this.#publish(options.key ?? '', content, intoQueue(queue, options), { ...options, priority: 5 });
  }

  /**
   * Commit the operations of `work(tx)` all together: `ack` and `nack` jobs, `put`, `publish` and `send` messages.
   * Resolves with the answers to the messages. An exception of `work` drops all. Rejects with a MeshError: nothing has
   * happened, and `operation` is the index of the refused one; or with IN_DOUBT if no answer arrives in `timeout` s.
   */
  async transaction(work, { timeout = 30 } = {}) {
    this.#require('transactions');
    return this.#transactions.run(work, (...message) => this.#message(...message), timeout);
  }

  /** After IN_DOUBT: resolves with 'committed' or 'refused' for the `tx` that `work` received. Rejects with IN_DOUBT if
   *  the outcome is not known within `timeout` s. */
  async outcome(tx, { timeout = 30 } = {}) {
    return this.#transactions.outcome(tx, timeout);
  }

  /** Erase a topic and its retained value. Resolves with the erased keys. */
  async erase(key, { domain = '' } = {}) {
    await this.#publisher.flush(); // includes earlier messages
    const { value } = await this.#call('erase', { key, domain });
    return value.erased;
  }

  #publish(key, content, { to, domain, flags, put = null, feature = '' }, own) {
    if (feature) this.#require(feature);
    return this.#publisher.publish(this.#message(key, content, to, own), domain, flags, to, { put });
  }

  #message(key, content, to, own) {
    if (this.#error) throw this.#error;
    return messageOf(key, content, to, own, this.#session.maxContent);
  }

  // --- services and queues -----------------------------------------------------------------------

  /** Resolves with the reply of one server of the address. Rejects with a MeshError for a refusal; its `code` is from
   *  the server or from the mesh (NO_HANDLERS, HANDLER_LOST, TIMEOUT, …). `timeout` is in seconds. */
  async request(address, content = '', { timeout = 10, localOnly = false, ...own } = {}) {
    this.#require('services');
    const flags = wire.REQUEST + (localOnly ? wire.LOCAL_ONLY : 0);
    return this.#requests.ask(this.#message('', content, address, own), flags, address, timeout);
  }

  /** Serve an address. The result of `handler(message)` is the reply; an exception is a refusal with the error's
   *  `code`. At most `credit` messages are processed at once. */
  async serve(address, handler, { credit = 64, localOnly = false } = {}) {
    this.#require('services');
    const service = new Service(this.#session, ++this.#numbers, address, handler, credit, localOnly);
    await this.#consumers.open(service);
    return { close: () => this.#consumers.close(service) };
  }

  /** Consume from a queue: see `Consumer`. At most `prefetch` messages are unsettled, and 1,000. */
  async consume(queue, { prefetch, selector } = {}) {
    this.#require('queues');
    const leave = (consumer) => this.#consumers.close(consumer);
    const terms = { prefetch, selector };
    return this.#consumers.open(new Consumer(this.#session, this.#calls, ++this.#numbers, queue, terms, leave));
  }

  #require(feature) {
    const isThere = this.#session.words.includes(feature) || !this.#session.isUp;
    check(isThere, 'NOT_AVAILABLE', `this node is of a release without the feature ${feature}`);
  }

  // --- subscribing -------------------------------------------------------------------------------

  /** Subscribe to a key, or to a pattern if a level is + or #. `initial`: begin with the retained values. */
  subscribe(keyOrPattern, { domain = '', initial = true } = {}) {
    return this.#subscribe(new Subscription(++this.#numbers, query(keyOrPattern, domain), initial, this.#keeper));
  }

  /** Subscribe to the direct messages to this session. One at a time. */
  async inbox() {
    check(!this.#subscriptions.has(0), 'BAD_QUERY', 'the inbox is open already');
    return this.#subscribe(new Subscription(0, ['inbox', '', ''], false, this.#keeper));
  }

  /** Retained values of all topics that match: {messages, missing}. `missing` names nodes that did not answer. A
   *  message has its `source`, and in `stale` the seconds since the source lost the master. */
  async get(keyOrPattern, { domain = '', fresh = false } = {}) {
    const [kind, text] = query(keyOrPattern, domain);
    const { value, messages } = await this.#call('get', { kind, text, domain, fresh });
    return { messages, missing: value.missing };
  }

  async #subscribe(subscription) {
    this.#subscriptions.set(subscription.number, subscription);
    try {
      await this.#calls.ask((request) => subscription.command(request), (value) => subscription.confirmed(value));
    } catch (error) {
      this.#subscriptions.delete(subscription.number);
      throw error;
    }
    return subscription;
  }

  #keeper = {
    acknowledge: () => this.#acknowledge(),
    unsubscribe: async (subscription) => {
      this.#subscriptions.delete(subscription.number);
      subscription.end();
      await this.#calls.ask((request) => [wire.UNSUBSCRIBE, request, subscription.number]);
    },
  };

  #acknowledge() {
    this.#ackTimer ??= setTimeout(() => this.#sayAck(), ACK_AFTER);
  }

  #sayAck() {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = null;
    const takers = [...this.#subscriptions.values(), { number: REPLIES, taken: this.#requests.taken }];
    const taken = takers.filter((s) => s.taken).map((s) => [s.number, s.taken]);
    this.#session.send([wire.ACK, this.#session.have, taken]);
  }

  // --- questions ---------------------------------------------------------------------------------

  /** Where a node, client, session, address, queue or site is, such as client/joe: {kind, name, nodes, sightings,
   *  missing}. `sightings` has a row for each node, also for other objects with that name; its `by` is the node that
   *  reported it. `missing` names nodes that did not answer. Rejects with code UNKNOWN_NAME. */
  async where(name) {
    const { value: { sightings, missing } } = await this.#call('locate', { name });
    const [{ kind, name: full }] = sightings;
    const nodes = sightings.filter((row) => row.name === full).map(({ node }) => node);
    return { kind, name: full, nodes, sightings, missing };
  }

  #call(verb, args) {
    return this.#calls.ask((request) => [wire.CALL, request, verb, args]);
  }

  // --- events of the session --------------------------------------------------------------------

  #welcomed({ anew, isElsewhere, from }) {
    this.#departing.cancel();
    if (anew) this.#requests.begunAnew();
    this.#attach();
    for (const subscription of this.#subscriptions.values()) {
      if (anew) subscription.begunAnew();
      const terms = { isResumed: !anew, isMoving: this.#visits.isMoving };
      if (subscription.isReady) this.#session.send(subscription.command(this.#calls.next(), terms));
    }
    this.#calls.again();
    this.#consumers.again();
    this.#transactions.welcomed();
    this.#publisher.again(isElsewhere);
    this.#sayAck();
    this.#opening?.resolve();
    this.emit('connected', anew);
    if (from !== null) this.emit('session_moved', { from, to: this.#session.node.name });
  }

  /** Ask the node to take over the session, if it was elsewhere. The REPLY comes when the former nodes are released. */
  #attach() {
    const session = this.#session;
    const ready = [...this.#subscriptions.values()].filter(({ number, isReady }) => isReady && number > 0);
    const numbers = ready.map(({ number }) => number);
    const args = this.#visits.welcomed(session.node, session.name, session.words.includes('visits'), numbers);
    session.attach = this.#visits.attach;
    if (args) this.#calls.askOnce((request) => [wire.CALL, request, 'attach', args], () => this.#visits.released());
  }

  /** Whether a call, a delivery, or a request with a lower number than `first` is open. */
  #isBusy(first) {
    const isCalling = this.#transactions.isBusy || this.#calls.count > 0;
    return this.#consumers.isBusy || isCalling || this.#requests.hasOpen(first);
  }

  #heard(command, envelopes) {
    switch (command[0]) {
      case wire.ANSWERS: return command[1].forEach((answer) => this.#publisher.answered(answer));
      case wire.ITEMS: return this.#arrived(Number(command[1]), command[2], envelopes);
      case wire.REPLY: return this.#transactions.replied(command) || this.#calls.replied(command, envelopes);
      case wire.ENDED: return this.#ended(command);
    }
  }

  #ended([, number, code, text]) {
    const error = new MeshError(code, text);
    this.#consumers.ended(number, error);
    this.#subscriptions.get(number)?.end(error);
    this.#subscriptions.delete(number);
    this.#session.send([wire.UNSUBSCRIBE, this.#calls.next(), number]);
  }

  #arrived(seq, heads, envelopes) {
    this.#acknowledge();
    if (seq <= this.#session.have) return; // a duplicate
    if (seq > this.#session.have + 1) throw new Error(`ITEMS ${seq} after ${this.#session.have}`);
    this.#session.have = seq;
    heads.forEach(([, position = 0, master = [], targets = [], gaps = [], ttl = 0, tries = []], i) => {
      const { messages } = envelopes[i];
      for (const [number, dropped] of gaps) this.#subscriptions.get(number)?.missed(dropped);
      for (const [number, column] of targets) {
        const own = wire.places(column, messages.length).map((place) => messages[place]);
        if (number === REPLIES) this.#requests.arrived(own);
        else if (this.#consumers.arrived(number, own, { ttl, tries })) continue;
        else this.#subscriptions.get(number)?.arrived(own, Buffer.from(master).toString('hex'), BigInt(position));
      }
    });
  }

  #lost(reason, wasUp) {
    if (this.#opening) this.#opening.reason = reason;
    this.#departing.cancel();
    this.#calls.lost();
    this.#consumers.lost();
    if (wasUp) this.emit('disconnected', reason);
  }

  // --- the end -----------------------------------------------------------------------------------

  /** Waits at most `patience` ms for answers. The session ends, unless a message waits for its final answer:
   *  then its node keeps it for a minute. */
  async close({ patience = 5000 } = {}) {
    if (this.#error) return;
    let timer;
    await Promise.race([this.#publisher.flush(), new Promise((resolve) => (timer = setTimeout(resolve, patience)))]);
    clearTimeout(timer);
    if (this.#ackTimer) this.#sayAck();
    this.#end(new MeshError('CLOSED', 'the client is closed'), this.#publisher.isOwed ? '' : 'done');
  }

  #end(error, goodbye = '') {
    this.#error = error;
    clearTimeout(this.#ackTimer);
    this.#departing.cancel();
    this.#session.close(goodbye);
    this.#transactions.fail(error);
    this.#publisher.fail(error);
    this.#requests.fail(error);
    this.#calls.fail(error);
    this.#consumers.fail(error);
    this.#subscriptions.forEach((subscription) => subscription.end(error.code === 'CLOSED' ? null : error));
    this.#opening?.reject(error);
  }
}
