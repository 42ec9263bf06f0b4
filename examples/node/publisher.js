// The publishing half: gather messages into envelopes, and keep each until its last word is said.
import { MeshError } from './session.js';
import { ENVELOPE_BYTES, ENVELOPE_MESSAGES, PUBLISH, RESENT, SENDS, sealEnvelope } from './wire.js';

export class Publisher {
  #session;
  #next = new Map(); // domain -> number of its next message
  #open = null; // the envelope that still takes messages
  #waiting = []; // full, but the window has no room
  #sent = new Set(); // without a last word, in order
  #flight = 0; // how many of them have no answer at all,
  #flightBytes = 0; // and how large they are
  #idle = []; // to call when everything is answered

  constructor(session) {
    this.#session = session;
  }

  /** Resolves with the first answer, as `Entry` has it; rejects when the message was refused. To an address it
   *  must have gone `until` then. */
  publish(message, domain, flags, to, until = 0) {
    const open = this.#open;
    if (!open || open.domain !== domain || open.flags !== flags || open.to !== to || open.until !== until) {
      this.#seal();
      this.#open = new Envelope(domain, flags, to, until);
      setImmediate(() => this.#seal()); // what is published until then goes along
    }
    const entry = this.#open.add(message);
    if (this.#open.isFull) this.#seal();
    return entry.first.promise;
  }

  /** The node has answered some numbers. */
  answered([domain, first, last, state = 'OK', matched = 0, text = '']) {
    for (const envelope of this.#sent) {
      if (envelope.domain !== domain || envelope.first > last || envelope.last < first) continue;
      const wasAnswered = envelope.isAnswered;
      envelope.hear(Number(first), Number(last), state, matched, text);
      if (envelope.isAnswered && !wasAnswered) this.#landed(envelope);
      if (envelope.isFinal) this.#sent.delete(envelope);
    }
    this.#fill();
    if (!this.isBusy) this.#idle.splice(0).forEach((resolve) => resolve());
  }

  /** After a reconnect: once more all that has no last word, in order. `isElsewhere`: perhaps this is not the
   *  node, or the process of it, that has heard it before; then it must not give out what it does not know. */
  again(isElsewhere) {
    for (const envelope of this.#sent) {
      if (isElsewhere && envelope.domain === SENDS) envelope.resend(this.#session.stream);
      this.#put(envelope);
    }
    this.#fill();
  }

  /** Does a message wait for its first answer? */
  get isBusy() {
    return Boolean(this.#open || this.#waiting.length || this.#flight);
  }

  /** Does a message wait for its last word? */
  get isOwed() {
    return this.isBusy || this.#sent.size > 0;
  }

  /** Until every message has an answer. */
  async flush() {
    if (this.isBusy) await new Promise((resolve) => this.#idle.push(resolve));
  }

  /** It is over: whoever waits learns it. */
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
    const { domain, entries } = this.#open;
    const first = this.#next.get(domain) ?? 1;
    this.#next.set(domain, first + entries.length);
    this.#open.number(this.#session.stream, first);
    this.#waiting.push(this.#open);
    this.#open = null;
    this.#fill();
  }

  /** Send what the window has room for. */
  #fill() {
    const [mostBytes, most] = this.#session.window;
    while (this.#session.isUp && this.#waiting.length && this.#flight < most && this.#flightBytes < mostBytes) {
      const envelope = this.#waiting.shift();
      this.#sent.add(envelope);
      this.#flight += 1;
      this.#flightBytes += envelope.bytes;
      envelope.seal(this.#session.stream, this.#low(envelope));
      this.#put(envelope);
    }
  }

  /** The lowest number of the domain that has no last word. */
  #low({ domain }) {
    for (const envelope of this.#sent) if (envelope.domain === domain) return envelope.low;
  }

  #landed(envelope) {
    this.#flight -= 1;
    this.#flightBytes -= envelope.bytes;
  }

  #put({ sealed, until }) {
    const ttls = until ? [[Math.max(1, until - Date.now())]] : [];
    this.#session.send([PUBLISH, [sealed.bodyFrames], ...ttls], sealed.frames);
  }
}

/** Messages of one domain with the same flags for the same destination. */
class Envelope {
  entries = [];
  keys = new Set();
  bytes = 0;

  constructor(domain, flags, to, until) {
    Object.assign(this, { domain, flags, to, until });
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

  resend(stream) {
    this.flags |= RESENT;
    this.seal(stream, Math.min(this.low, this.first)); // of some of it the answer may have come
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

/** A message and its answers: {state, id, matched, note, final}. `state` is OK or FORWARD_WARNING,
 *  `note` says what it waits for, and `final` promises the last word. */
class Entry {
  state = null;
  first = deferred();
  final = deferred();

  constructor(message) {
    this.message = message;
    this.final.promise.catch(() => {}); // not everybody waits for it
  }

  get isFinal() {
    return this.state !== null && this.state !== 'FORWARD_WARNING';
  }

  hear(state, matched, note) {
    if (this.isFinal) return;
    if (state !== 'OK' && state !== 'FORWARD_WARNING') return this.refuse(new MeshError(state, note), state);
    this.state = state;
    const answer = { state, id: this.id, matched, note, final: this.final.promise };
    this.first.resolve(answer); // a second time this changes nothing
    if (state === 'OK') this.final.resolve(answer);
  }

  refuse(error, state = 'FAILED') {
    if (this.isFinal) return;
    this.state = state;
    this.first.reject(error);
    this.final.reject(error);
  }
}

function deferred() {
  const it = {};
  it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }));
  return it;
}
