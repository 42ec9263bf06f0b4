// A client of a Heronry mesh. See README.md.
import { EventEmitter } from 'node:events';
import { findAccess, findNode } from './nodes.js';
import { Publisher } from './publisher.js';
import { REPLIES, Requests, Service } from './services.js';
import { MeshError, Session } from './session.js';
import { Subscription } from './subscription.js';
import * as wire from './wire.js';

export { MeshError };

/** Return the name as nodes know it: client/joe/1 is short for client/joe/session/1. */
function sessionName(to) {
  const short = /^((?:\/.*\/)?client\/[^/]+)\/(-?[1-9]\d*)$/.exec(to);
  return short && !/client\/[^/]+\/session\/[^/]+$/.test(to) ? `${short[1]}/session/${short[2]}` : to;
}

const ACK_AFTER = 2; // ms; one ACK covers everything until then
const LONGEST_KEY = 512; // characters of a key or destination
const LARGEST_PROPERTIES = 65_536; // bytes

/**
 * Connect a client. After a restart of its node it resumes its session.
 * `name` is the client's name, `session` a fixed number from 1 up, or 0 for a new one each time, and `node` the
 * name or address of a node. Default: MESH_URL, else the only node on this machine.
 * Rejects if no node answers within `patience` ms.
 */
export async function connect(options = {}) {
  const { name = '', session = 0, node = '', patience = 5000, environ = process.env } = options;
  const client = new Client(name, session, node, environ);
  await client.open(patience);
  return client;
}

/** Emits `connected` (true if the node has begun anew) and `disconnected` (with the reason). */
export class Client extends EventEmitter {
  #session;
  #publisher;
  #requests;
  #subscriptions = new Map(); // by number
  #services = new Map(); // by number
  #calls = new Map(); // by request, without a REPLY
  #numbers = 0; // of subscriptions and services; 0 is the inbox
  #asked = 0;
  #ackTimer = null;
  #opening = null;
  #error = null; // reason of the end

  constructor(client, number, node, environ) {
    super();
    this.#session = new Session({
      client: client || 'nodejs',
      named: client !== '', // a default name has no inbox of its own
      number,
      findAddress: () => findNode(node || this.#session.node, environ),
      findAccess: (address) => findAccess(address, environ),
      owner: {
        welcomed: (anew, isElsewhere) => this.#welcomed(anew, isElsewhere),
        heard: (command, envelopes) => this.#heard(command, envelopes),
        lost: (reason, wasUp) => this.#lost(reason, wasUp),
        failed: (error) => this.#end(error),
      },
    });
    this.#publisher = new Publisher(this.#session);
    const publish = (message, flags, to, until) => this.#publisher.publish(message, wire.SENDS, flags, to, until);
    this.#requests = new Requests({ publish });
  }

  /** Name of the session, a destination for direct messages. */
  get name() {
    return this.#session.name;
  }

  /** Wait for WELCOME. Rejects after `patience` ms, with the last reason. */
  async open(patience) {
    await this.#session.findAddress(); // fails at once without a node
    const opening = (this.#opening = { reason: '' });
    const timer = setTimeout(() => this.#end(new MeshError('NO_NODE', opening.reason || 'no answer')), patience);
    const welcome = new Promise((resolve, reject) => Object.assign(opening, { resolve, reject }));
    this.#session.dial();
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
  publish(key, content, { domain = '', persistent = false, ...own } = {}) {
    return this.#publish(key, content, domain, persistent ? wire.PERSISTENT : 0, '', own);
  }

  /** Send to a session or client, such as client/joe or /node/heron/client/joe/1, or to one server of an
   *  address, such as calc/sum. For an array of destinations, resolves with {destination, answer, error} of each:
   *  either `answer` or `error` is null. */
  async send(destination, content, options = {}) {
    if (!Array.isArray(destination)) return this.#sendOne(destination, content, options);
    const sent = await Promise.allSettled(destination.map((to) => this.#sendOne(to, content, options)));
    return sent.map(({ value = null, reason = null }, i) => ({
      destination: destination[i],
      answer: value,
      error: reason,
    }));
  }

  async #sendOne(to, content, { key = '', domain = '', persistent = false, forceQueuing = false, ...own }) {
    const flags = (persistent ? wire.PERSISTENT : 0) + (forceQueuing ? wire.FORCE_QUEUING : 0);
    const isAddress = !/^(client\/|\/)/.test(to);
    if (isAddress) this.#checkServices();
    return this.#publish(key, content, isAddress ? wire.SENDS : domain, flags, sessionName(to), own);
  }

  /** Erase a topic and its retained value. Resolves with the erased keys. */
  async erase(key, { domain = '' } = {}) {
    await this.#publisher.flush(); // includes earlier messages
    const { value } = await this.#call('erase', { key, domain });
    return value.erased;
  }

  async #publish(key, content, domain, flags, to, own) {
    return this.#publisher.publish(this.#message(key, content, to, own), domain, flags, to);
  }

  #message(key, content, to, { headers = [], expiry = 0, priority = 5 }) {
    if (this.#error) throw this.#error;
    const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
    const expires = expiry ? new Date(Date.now() + 1000 * expiry) : null;
    const message = {
      key,
      content: Buffer.from(content),
      properties: wire.packProperties({ headers: pairs, expires, priority, isText: typeof content === 'string' }),
      expires,
    };
    const most = this.#session.maxContent;
    check([...key].length <= LONGEST_KEY, 'BAD_KEY', `a key of more than ${LONGEST_KEY} characters`);
    check([...to].length <= LONGEST_KEY, 'BAD_NAME', `a destination of more than ${LONGEST_KEY} characters`);
    check(message.content.length <= most, 'TOO_LARGE', `a content of more than ${most} bytes`);
    check(message.properties.length <= LARGEST_PROPERTIES, 'TOO_LARGE', 'headers of more than 64 KiB');
    return message;
  }

  // --- services ----------------------------------------------------------------------------------

  /** Resolves with the reply of one server of the address. Rejects with a MeshError for a refusal; its `code` is from
   *  the server or from the mesh (NO_HANDLERS, HANDLER_LOST, TIMEOUT, …). `timeout` is in seconds. */
  async request(address, content = '', { timeout = 10, localOnly = false, ...own } = {}) {
    this.#checkServices();
    const flags = wire.REQUEST + (localOnly ? wire.LOCAL_ONLY : 0);
    return this.#requests.ask(this.#message('', content, address, own), flags, address, timeout);
  }

  /** Serve an address. The result of `handler(message)` is the reply; an exception is a refusal with the error's
   *  `code`. At most `credit` messages are processed at once. */
  async serve(address, handler, { credit = 64, localOnly = false } = {}) {
    this.#checkServices();
    const service = new Service(this.#session, ++this.#numbers, address, handler, credit, localOnly);
    this.#services.set(service.number, service);
    try {
      await this.#consume(service);
    } catch (error) {
      this.#services.delete(service.number);
      throw error;
    }
    return { close: () => this.#unserve(service) };
  }

  /** Send CONSUME. Counts begin with the REPLY, so it is handled before later commands. */
  #consume(service) {
    service.isAsked = true;
    return this.#ask((request) => service.command(request), ({ epoch }) => service.opened(epoch));
  }

  async #unserve(service) {
    if (!this.#services.delete(service.number)) return;
    service.lost();
    await this.#ask((request) => service.command(request, 0));
  }

  #serveAgain(service) {
    this.#consume(service).catch((error) => {
      this.#services.delete(service.number);
      if (!this.#error) this.emit('unserved', service.address, error);
    });
  }

  #checkServices() {
    const isThere = this.#session.words.includes('services') || !this.#session.isUp;
    check(isThere, 'NOT_AVAILABLE', 'this node is of a release without services');
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
    const { number, query, initial } = subscription;
    this.#subscriptions.set(number, subscription);
    try {
      await this.#ask((request) => [wire.SUBSCRIBE, request, number, query, initial, false]);
    } catch (error) {
      this.#subscriptions.delete(number);
      throw error;
    }
    subscription.isReady = true;
    return subscription;
  }

  #keeper = {
    acknowledge: () => this.#acknowledge(),
    unsubscribe: async (subscription) => {
      this.#subscriptions.delete(subscription.number);
      subscription.end();
      await this.#ask((request) => [wire.UNSUBSCRIBE, request, subscription.number]);
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
    return this.#ask((request) => [wire.CALL, request, verb, args]);
  }

  async #ask(commandOf, heard = () => {}) {
    if (this.#error) throw this.#error;
    const request = ++this.#asked;
    const call = { command: commandOf(request), messages: [], heard };
    this.#calls.set(request, call);
    this.#session.send(call.command);
    return new Promise((resolve, reject) => Object.assign(call, { resolve, reject }));
  }

  #replied([, request, value = null, code = '', text = ''], envelopes) {
    const call = this.#calls.get(request);
    if (!call) return;
    envelopes.forEach(({ messages: [message] }, i) => {
      const [source, stale] = value.sources?.[i] ?? ['', null];
      call.messages.push(Object.assign(message, { source, stale }));
    });
    if (value?.more) return;
    this.#calls.delete(request);
    if (code) {
      call.reject(new MeshError(code, text));
    } else {
      call.heard(value); // before later commands
      call.resolve({ value, messages: call.messages });
    }
  }

  // --- events of the session --------------------------------------------------------------------

  #welcomed(anew, isElsewhere) {
    if (anew) this.#requests.begunAnew();
    for (const subscription of this.#subscriptions.values()) {
      if (anew) subscription.begunAnew();
      const { number, query, initial, isReady } = subscription;
      if (isReady) this.#session.send([wire.SUBSCRIBE, ++this.#asked, number, query, initial, !anew]);
    }
    for (const call of this.#calls.values()) {
      call.messages = [];
      this.#session.send(call.command);
    }
    for (const service of this.#services.values()) if (!service.isAsked) this.#serveAgain(service);
    this.#publisher.again(isElsewhere);
    this.#sayAck();
    this.#opening?.resolve();
    this.emit('connected', anew);
  }

  #heard(command, envelopes) {
    switch (command[0]) {
      case wire.ANSWERS: return command[1].forEach((answer) => this.#publisher.answered(answer));
      case wire.ITEMS: return this.#arrived(Number(command[1]), command[2], envelopes);
      case wire.REPLY: return this.#replied(command, envelopes);
    }
  }

  #arrived(seq, heads, envelopes) {
    this.#acknowledge();
    if (seq <= this.#session.have) return; // a duplicate
    if (seq > this.#session.have + 1) throw new Error(`ITEMS ${seq} after ${this.#session.have}`);
    this.#session.have = seq;
    heads.forEach(([, position = 0, master = [], targets = [], gaps = [], ttl = 0], i) => {
      const { messages } = envelopes[i];
      for (const [number, dropped] of gaps) this.#subscriptions.get(number)?.missed(dropped);
      for (const [number, column] of targets) {
        const own = wire.places(column, messages.length).map((place) => messages[place]);
        if (number === REPLIES) this.#requests.arrived(own);
        else if (this.#services.has(number)) this.#services.get(number).arrived(own, ttl);
        else this.#subscriptions.get(number)?.arrived(own, Buffer.from(master).toString('hex'), BigInt(position));
      }
    });
  }

  #lost(reason, wasUp) {
    if (this.#opening) this.#opening.reason = reason;
    this.#services.forEach((service) => service.lost());
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
    this.#session.close(goodbye);
    this.#publisher.fail(error);
    this.#requests.fail(error);
    this.#calls.forEach((call) => call.reject(error));
    this.#subscriptions.forEach((subscription) => subscription.end(error.code === 'CLOSED' ? null : error));
    this.#opening?.reject(error);
  }
}

/** The query of a key or pattern. No key can have a level that is + or #. */
function query(text, domain) {
  const isPattern = text.split('/').some((level) => level === '+' || level === '#');
  return [isPattern ? 'pattern' : 'exact', text, domain];
}

function check(isGood, code, text) {
  if (!isGood) throw new MeshError(code, text);
}
