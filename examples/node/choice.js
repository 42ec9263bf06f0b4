// Chooses the node that a client dials next, and when. Pure: callers pass the time, in ms.
// Law 1: a client dials other nodes than its own one only if `mayVisit` permits it.
// Law 2: no place is dialed twice in a round, except the client's own node during OWN.
// Law 3: at most one redirect is followed in a round, and never to an address that this round has dialed. All
//        addresses that a drained node names are dialed, without a wait.
import { isIP } from 'node:net';

const OWN = 1000; // ms after a loss in which only the client's own node is dialed
const HERD = 500; // ms, the longest random wait before the first visit
const STEADY = 10_000; // ms after which the next visit is not flapping
const FLAPPING = 30_000; // ms, the longest wait before a visit
const LATEST = 60_000; // ms, the longest wait that a node may ask for
const MOST = 8; // nodes of a WELCOME, addresses of a node, and forward addresses that are read
const TCP = /^tcp:\/\/(?:\[([0-9A-Fa-f:.]+)(?:%[\w.-]{1,15})?\]|([0-9.]+)):(\d{1,5})$/;
const OF_CLIENT = ['BAD_NAME', 'FORGED_STREAM', 'SESSION_IN_USE']; // refusals that each node would repeat

/**
 * The places of one client, tried in rounds until a node accepts the client: its own node, the names that the user
 * gave, in that order, and the nodes of the last WELCOME. A place is {text, source, key}: `text` is an address or a
 * name, `source` is own, named, forward or known, and `key` the key that the node must have, in hex, or ''.
 * `mayVisit(place)` returns whether the client may go to another place than its own; `chance()` is in [0, 1).
 */
export class NodeChoice {
  #own = null;
  #known = [];
  #uuid = ''; // of the own node
  #lostAt = -Infinity;
  #visitedAt = -Infinity;
  #flaps = 0; // visits shortly after another
  #reasons = new Map(); // text of a place -> why it did not accept the client, the latest last
  #notBefore = new Map(); // text of a place -> ms
  #last = null;

  constructor(names, { chance = Math.random, mayVisit = () => true } = {}) {
    this.names = names.length ? names : [''];
    Object.assign(this, { chance, mayVisit });
    this.#clearRound();
  }

  #clearRound() {
    this.queue = [];
    this.tried = new Set();
    this.isRedirected = this.isHopeful = this.hasLeft = this.isSent = false;
    this.rounds = 0;
  }

  /** Whether the last place is not the node of the client's session. */
  get isVisit() {
    return this.#own !== null && this.#last.source !== 'own';
  }

  /** Return {place, wait}: the next place, and the ms to wait. `backoff`: wait before places are dialed once more. */
  next(now, backoff = 0) {
    const own = this.#own;
    if (own && now - this.#lostAt < OWN) return this.#step(own, now, backoff);
    let wait = 0;
    this.queue = this.queue.filter(({ text }) => !this.tried.has(text));
    if (!this.queue.length) {
      this.#fillRound(own !== null && !this.rounds);
      wait = backoff;
    }
    const place = this.queue.shift();
    if (own && place !== own && !this.hasLeft) {
      this.hasLeft = true;
      wait = this.chance() * HERD + this.#calmWait(now);
    }
    return this.#step(place, now, wait);
  }

  #step(place, now, wait) {
    this.#last = place;
    this.tried.add(place.text);
    return { place, wait: Math.max(wait, (this.#notBefore.get(place.text) ?? now) - now) };
  }

  /** Begin a round. The first one after a loss begins with other nodes, as OWN has just passed. */
  #fillRound(isFirst) {
    this.rounds += 1;
    this.tried.clear();
    this.isRedirected = this.isHopeful = false;
    const own = this.#own;
    const others = this.#others().filter((place) => !own || (place.text !== own.text && this.mayVisit(place)));
    if (!own) this.queue = others;
    else this.queue = isFirst ? [...others, own] : [own, ...others];
  }

  #others() {
    return [...this.names.map((text) => ({ text, source: 'named', key: '' })), ...this.#known];
  }

  /** The wait of a client whose visits follow one another quickly: 1, 2, 4 … s. */
  #calmWait(now) {
    if (now - this.#visitedAt >= STEADY) this.#flaps = 0;
    return this.#flaps ? Math.min(FLAPPING, 1000 * 2 ** (this.#flaps - 1)) : 0;
  }

  /** The ms that a handshake may take: less while other places wait, more in each round. */
  patience(longest) {
    const isAlone = !this.queue.length && (this.rounds > 0 || !this.#others().some(this.mayVisit));
    return this.isSent || isAlone ? longest : Math.min(longest, OWN * 2 ** Math.max(0, this.rounds - 1));
  }

  // --- what happened -----------------------------------------------------------------------------

  /** Record the address to which the last place led. */
  dialed(address) {
    this.tried.add(address);
  }

  /** Record why the last place did not accept the client. Reasons that are not final may pass. */
  failed(reason, isFinal = false) {
    this.#reasons.delete(this.#last.text);
    this.#reasons.set(this.#last.text, reason);
    this.isHopeful ||= !isFinal;
  }

  /** Follow the redirect of a REFUSE, and remember when its node may be dialed again. */
  refused(now, forward, retryMs) {
    if (retryMs) this.#notBefore.set(this.#last.text, now + Math.min(retryMs, LATEST));
    const [place] = this.isRedirected ? [] : this.#forwards(forward);
    if (!place) return;
    this.queue = [place, ...this.queue.filter(({ text }) => text !== place.text)];
    this.isRedirected = true;
  }

  #forwards(forward) {
    const places = forward.slice(0, MOST).map((text) => ({ text, source: 'forward', key: '' }));
    return places.filter((place) => isDialable(place.text) && !this.tried.has(place.text) && this.mayVisit(place));
  }

  /** Make the last place the client's own one. `nodes` are the introductions of WELCOME. */
  welcomed(now, uuid, nodes) {
    if (this.#uuid && uuid !== this.#uuid) {
      this.#flaps = now - this.#visitedAt < STEADY ? this.#flaps + 1 : 0;
      this.#visitedAt = now;
    }
    this.#uuid = uuid;
    this.#own = { ...this.#last, source: 'own' };
    this.#known = nodes.slice(0, MOST).flatMap(placesOf);
    this.#reasons.clear();
    this.#notBefore.clear();
    this.#clearRound();
  }

  /** Return whether a node with this key, in hex, may be the one at the last place. */
  isKnownKey(key) {
    return !this.#last.key || this.#last.key === key;
  }

  /** Begin to search after a loss. A node that is drained names others in `forward`, and is dialed after them. */
  lost(now, forward = null) {
    this.#clearRound();
    this.#lostAt = forward ? -Infinity : now;
    if (!forward) return;
    this.hasLeft = this.isSent = true; // the node spreads its clients, so no wait is needed
    this.#fillRound(true);
    this.queue.unshift(...this.#forwards(forward));
  }

  /** Return whether a final refusal with that code at the last place ends the client. */
  isOver(code) {
    if (!['named', 'own'].includes(this.#last.source)) return false;
    return OF_CLIENT.includes(code) || !(this.queue.length || this.isHopeful);
  }

  /** Why no node accepted the client, with each place that was dialed; '' if no place was. */
  get summary() {
    const reasons = [...this.#reasons];
    if (reasons.length < 2) return reasons[0]?.[1] ?? '';
    const each = reasons.map(([text, reason]) => `${text || 'the default node'}: ${reason}`);
    return `none of ${each.length} nodes can be reached: ${each.join('; ')}`;
  }
}

/** The places of an introduction. Only TCP addresses are dialed, as a local socket needs no proof. */
function placesOf([, , , address, also = [], , key = []]) {
  const addresses = [address, ...also.slice(0, MOST)].filter(isDialable);
  return addresses.map((text) => ({ text, source: 'known', key: Buffer.from(key).toString('hex') }));
}

/** Return whether the address is tcp://IP:PORT, without a host name, a wildcard or the port 0. */
export function isDialable(address) {
  const [, six, four, port] = TCP.exec(address) ?? [];
  const ip = six ?? four ?? '';
  return isIP(ip) === (six ? 6 : 4) && !/^[0:.]*$/.test(ip) && port > 0 && port < 65536;
}
