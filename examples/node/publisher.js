// Publishing: collects messages in envelopes, and keeps each until its final answer.
import { MeshError } from './handshake.js';
import { ENVELOPE_BYTES, ENVELOPE_MESSAGES, PUBLISH, PUTS, RESENT, SENDS, sealEnvelope } from './wire.js';

export class Publisher {
  held = ''; // what is kept for the next node: '', 'requests' (all messages to addresses) or 'all'
  #session;
  #next = new Map(); // domain -> number of its next message
  #open = null; // envelope that can still get messages
  #waiting = []; // envelopes that wait for the window
  #sent = new Set(); // envelopes without a final answer, in order
  #flight = 0; // envelopes without any answer
  #flightBytes = 0; // bytes of these
  #commits = 0; // transactions without an outcome
  #idle = []; // called when everything is answered

  constructor(session) {
    this.#session = session;
  }

  /** Resolves with the first answer (see `Entry`); rejects if the message is refused. `until`: deadline of a
   *  message to an address, in ms since 1970. `put`: terms of a message to a queue, see the header. */
  publish(message, domain, flags, to, { until = 0, put = null } = {}) {
    const name = JSON.stringify([domain, flags, to, until, put]);
    if (this.#open?.name !== name) {
      this.#seal();
      this.#open = new Envelope({ name, domain, flags, to, until, put });
      setImmediate(() => this.#seal()); // messages published until then share the envelope
    }
    const entry = this.#open.add(message);
    if (this.#open.isFull) this.#seal();
    return entry.first.promise;
  }

  /** Number the messages of a transaction, and send it: `groups` are its envelopes. */
  commit(commit, groups) {
    this.#seal();
    commit.envelopes = groups.map(({ domain, flags, to, put, messages }) => {
      const envelope = new Envelope({ domain, flags, to, until: 0, put, commit });
      messages.forEach((message) => envelope.add(message).first.promise.catch(() => {}));
      this.#number(envelope);
      return envelope;
    });
    this.#waiting.push(commit);
    this.#commits += 1;
    this.#fill();
  }

  /** End a transaction, whose messages are answered. */
  ended(commit) {
    this.#sent.delete(commit);
    this.#waiting = this.#waiting.filter((unit) => unit !== commit);
    this.#commits -= 1;
    if (!commit.isAwaited) commit.envelopes.forEach((envelope) => (envelope.isSent = true)); // later ones went first
    this.release();
    this.#rest();
  }

  /** Refuse an envelope of a transaction. */
  refused(envelope, error) {
    if (this.#sent.delete(envelope) && !envelope.isAnswered) this.#landed(envelope);
    envelope.refuse(error);
  }

  /** Send what waited for an outcome, and does not any more. */
  release() {
    const held = this.#held();
    for (const unit of this.#sent) if (!unit.isSent && !isHeld(unit, held)) this.#resend(unit);
    this.#fill();
  }

  /** Handle the node's answer for a range of numbers. */
  answered([domain, first, last, state = 'OK', matched = 0, text = '']) {
    for (const envelope of this.#sent) {
      if (envelope.domain !== domain || envelope.first > last || envelope.last < first) continue;
      const wasAnswered = envelope.isAnswered;
      envelope.hear(Number(first), Number(last), state, matched, text);
      if (envelope.isAnswered && !wasAnswered) this.#landed(envelope);
      if (envelope.isFinal) this.#sent.delete(envelope);
    }
    this.#fill();
    this.#rest();
  }

  #rest() {
    if (!this.isBusy) this.#idle.splice(0).forEach((resolve) => resolve());
  }

  /** After a reconnect, resend in order everything without a final answer. `isElsewhere`: another node or process may
   *  have received it before, so it is marked as resent where the node has the feature for that. */
  again(isElsewhere) {
    const held = this.#held();
    for (const unit of this.#sent) {
      if (unit.envelopes) {
        if (!unit.isDoubtful && !isHeld(unit, held)) unit.send();
        continue;
      }
      unit.mayBeElsewhere ||= isElsewhere && (unit.commit?.isSent ?? unit.isSent);
      unit.isSent = false;
      if (!isHeld(unit, held)) this.#resend(unit);
    }
    this.#fill();
  }

  /** Send an envelope again, unless its transaction is not answered. */
  #resend(unit) {
    if (unit.envelopes) return unit.isDoubtful || unit.send();
    if (unit.commit && !unit.commit.isAnswered) return;
    if (unit.mayBeElsewhere) unit.resend(this.#session.stream, this.#hasMark(unit));
    this.#put(unit);
  }

  /** The domains that wait for outcomes in doubt, each with its first number that waits. */
  #held() {
    const held = new Map();
    for (const unit of this.#commits ? [...this.#sent, ...this.#waiting] : []) {
      if (!unit.envelopes || (unit.isDoubtful ? !unit.isAwaited : !isHeld(unit, held))) continue;
      for (const { domain, first } of unit.envelopes) if (!held.has(domain)) held.set(domain, first);
    }
    return held;
  }

  #hasMark({ domain }) {
    const feature = domain.startsWith(PUTS) ? 'visits' : 'durable';
    return domain === SENDS || this.#session.words.includes(feature);
  }

  /** Whether every message that was sent to this node has an answer. */
  get isAnswered() {
    return [...this.#sent].every((envelope) => !envelope.isSent || envelope.isAnswered);
  }

  /** The number of the next message in the domain. */
  next(domain) {
    return this.#next.get(domain) ?? 1;
  }

  /** Whether a message waits for its first answer. */
  get isBusy() {
    return Boolean(this.#open || this.#waiting.length || this.#flight || this.#commits);
  }

  /** Whether a message waits for its final answer. */
  get isOwed() {
    return this.isBusy || this.#sent.size > 0;
  }

  /** Wait until every message has an answer. */
  async flush() {
    if (this.isBusy) await new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Reject everything that waits. */
  fail(error) {
    this.#seal();
    for (const envelope of [...this.#sent, ...this.#waiting]) envelope.refuse(error);
    this.#sent.clear();
    this.#waiting = [];
    this.#flight = 0;
    this.#idle.splice(0).forEach((resolve) => resolve());
  }

  #seal() {
    if (!this.#open) return;
    this.#number(this.#open);
    this.#waiting.push(this.#open);
    this.#open = null;
    this.#fill();
  }

  #number(envelope) {
    const { domain, entries } = envelope;
    const first = this.next(domain);
    this.#next.set(domain, first + entries.length);
    envelope.number(this.#session.stream, first);
  }

  /** Send as many envelopes as the window allows. */
  #fill() {
    const [mostBytes, most] = this.#session.window;
    const held = this.#held();
    while (this.#session.isUp && this.#flight < most && this.#flightBytes < mostBytes) {
      const at = this.#waiting.findIndex((unit) => !isHeld(unit, held));
      if (at < 0) return;
      const [unit] = this.#waiting.splice(at, 1);
      this.#sent.add(unit);
      for (const envelope of unit.envelopes ?? [unit]) this.#begin(envelope);
      if (!unit.envelopes) this.#put(unit);
      else if (this.held !== 'all') unit.send();
    }
  }

  #begin(envelope) {
    this.#sent.add(envelope);
    this.#flight += 1;
    this.#flightBytes += envelope.bytes;
    envelope.seal(this.#session.stream, this.#low(envelope));
  }

  /** The lowest number of the domain without a final answer. */
  #low({ domain }) {
    for (const envelope of this.#sent) if (envelope.domain === domain) return envelope.low;
  }

  #landed(envelope) {
    this.#flight -= 1;
    this.#flightBytes -= envelope.bytes;
  }

  #put(envelope) {
    const { sealed, until, domain } = envelope;
    if (this.held === 'all' || (this.held && domain === SENDS)) return;
    const ttls = until ? [[Math.max(1, until - Date.now())]] : [];
    envelope.isSent = this.#session.send([PUBLISH, [sealed.bodyFrames], ...ttls], sealed.frames);
  }
}

/** Messages of one domain with the same flags for the same destination. */
class Envelope {
  entries = [];
  keys = new Set();
  bytes = 0;
  isSent = false; // on this connection
  mayBeElsewhere = false; // an earlier node or process may have it

  constructor({ name = '', domain, flags, to, until, put, commit = null }) {
    Object.assign(this, { name, domain, flags, to, until, put, commit }); // `commit`: its transaction
  }

  add(message) {
    const entry = new Entry(message);
    this.entries.push(entry);
    this.bytes += message.properties.length + message.content.length;
    if (!this.keys.has(message.key)) this.bytes += message.key.length;
    this.keys.add(message.key);
    return entry;
  }

  get isFull() {
    return this.entries.length >= ENVELOPE_MESSAGES || this.bytes >= ENVELOPE_BYTES;
  }

  number(stream, first) {
    this.first = first;
    this.last = first + this.entries.length - 1;
    const name = `${stream.toString('hex')}${this.domain && '/'}${this.domain}`;
    this.entries.forEach((entry, i) => {
      entry.id = `${name}:${first + i}`;
      entry.message.numbered?.(first + i);
    });
  }

  seal(stream, low) {
    const messages = this.entries.map((entry) => entry.message);
    this.sealed = sealEnvelope({ ...this, stream, low, messages });
  }

  resend(stream, isMarked) {
    this.flags = isMarked ? this.flags | RESENT : this.flags & ~RESENT;
    this.seal(stream, Math.min(this.low, this.first)); // some may have been answered
  }

  hear(first, last, state, matched, text) {
    const [start, end] = [Math.max(0, first - this.first), last - this.first + 1];
    this.entries.slice(start, end).forEach((entry) => entry.hear(state, matched, text));
  }

  refuse(error) {
    this.entries.forEach((entry) => entry.refuse(error));
  }

  get isAnswered() {
    return this.entries.every((entry) => entry.state);
  }

  get isFinal() {
    return this.entries.every((entry) => entry.isFinal);
  }

  get low() {
    return this.first + this.entries.findIndex((entry) => !entry.isFinal);
  }
}

/** A message and its answers: {state, id, matched, note, final}. `state` is OK or FORWARD_WARNING, `note` the
 *  reason of a wait, and `final` a promise of the final answer. */
class Entry {
  state = null;
  first = deferred();
  final = deferred();

  constructor(message) {
    this.message = message;
    this.final.promise.catch(() => {}); // a caller need not wait for it
  }

  get isFinal() {
    return this.state !== null && this.state !== 'FORWARD_WARNING';
  }

  hear(state, matched, note) {
    if (this.isFinal) return;
    if (state !== 'OK' && state !== 'FORWARD_WARNING') return this.refuse(new MeshError(state, note), state);
    this.state = state;
    const answer = { state, id: this.id, matched, note, final: this.final.promise };
    this.first.resolve(answer); // has no effect the second time
    if (state === 'OK') this.final.resolve(answer);
  }

  refuse(error, state = 'FAILED') {
    if (this.isFinal) return;
    this.state = state;
    this.first.reject(error);
    this.final.reject(error);
  }
}

/** Whether an envelope or a transaction waits, by the first numbers that wait in each domain. */
function isHeld(unit, held) {
  const waits = ({ domain, first }) => held.has(domain) && first >= held.get(domain);
  return held.size > 0 && (unit.envelopes ?? [unit]).some(waits);
}

function deferred() {
  const it = {};
  it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }));
  return it;
}
