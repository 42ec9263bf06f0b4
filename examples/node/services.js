// Services: requests that wait for replies, and served addresses.
import { MeshError } from './handshake.js';
import { CONSUME, ENVELOPE_BYTES, ENVELOPE_MESSAGES, SETTLE, packProperties, rangesOf, sealEnvelope } from './wire.js';

export const REPLIES = 2 ** 32 - 1; // subscription number of replies
const LONGEST_CODE = 64;

/** Open requests by number. */
export class Requests {
  taken = 0; // items of replies since the node began anew
  #open = new Map();
  #publisher;

  constructor(publisher) {
    this.#publisher = publisher;
  }

  /** Resolves with the reply; rejects if it is a refusal, or after `timeout` seconds. */
  ask(message, flags, to, timeout) {
    return new Promise((resolve, reject) => {
      const request = { resolve, reject, hasIt: false };
      const late = new MeshError('TIMEOUT', `no reply came from ${to} within ${timeout} s`);
      request.timer = setTimeout(() => this.#fail(request, late), 1000 * timeout);
      message.numbered = (number) => this.#open.set((request.number = number), request);
      this.#publisher.publish(message, flags, to, Date.now() + 1000 * timeout).then(
        () => (request.hasIt = true),
        (error) => this.#fail(request, error),
      );
    });
  }

  /** Whether a request below the number `until` has no reply. */
  hasOpen(until) {
    return [...this.#open.keys()].some((number) => number < until);
  }

  /** Handle replies. Replies to requests that are no longer open are ignored. */
  arrived(messages) {
    this.taken += 1;
    for (const message of messages) {
      const request = this.#open.get(message.number);
      if (!request) continue;
      if (message.code) this.#fail(request, new MeshError(message.code, message.text));
      else request.resolve(this.#end(request) ?? message);
    }
  }

  /** Reject delivered requests after a restart or change of the node, as their replies are lost. */
  begunAnew() {
    this.taken = 0;
    const text = 'The request was delivered, but the node restarted or changed before a reply. It may have run.';
    for (const request of [...this.#open.values()].filter(({ hasIt }) => hasIt)) {
      this.#fail(request, new MeshError('HANDLER_LOST', text));
    }
  }

  fail(error) {
    [...this.#open.values()].forEach((request) => this.#fail(request, error));
  }

  #fail(request, error) {
    this.#end(request);
    request.reject(error);
  }

  #end(request) {
    clearTimeout(request.timer);
    this.#open.delete(request.number);
  }
}

/** A served address. `handler` gets each message; at most `credit` messages are processed at once. */
export class Service {
  isAsked = false; // whether CONSUME waits for its REPLY
  #epoch = null; // null: received messages belong to an earlier epoch
  #count = 0;
  #running = 0; // messages that the handler processes
  #settled = null; // settlements to send in the next turn of the event loop
  #session;

  constructor(session, number, address, handler, credit, localOnly) {
    Object.assign(this, { number, address, handler, credit, localOnly });
    this.#session = session;
  }

  /** CONSUME, which begins an epoch, or ends the service with the credit 0. */
  command(request, credit = this.credit) {
    return [CONSUME, request, this.number, this.address, credit, this.localOnly];
  }

  /** Whether a message is processed, or its reply not sent. */
  get isBusy() {
    return this.#running > 0 || this.#settled !== null;
  }

  opened({ epoch }) {
    this.isAsked = false;
    this.#epoch = epoch;
    this.#count = 0;
    this.#settled = null;
  }

  /** End the epoch: the connection and all outstanding messages are lost. */
  lost() {
    this.#epoch = null;
  }

  /** Nothing waits for the end of a service. */
  end() {}

  arrived(messages, { ttl }) {
    if (this.#epoch === null) return;
    for (const message of messages) {
      message.until = ttl ? new Date(Date.now() + ttl) : null; // the sender waits until then
      this.#handle(message, this.#epoch, ++this.#count);
    }
  }

  async #handle(message, epoch, count) {
    let reply;
    this.#running += 1;
    try {
      const content = await this.handler(message);
      const properties = packProperties({ isText: typeof content === 'string' });
      reply = { properties, content: Buffer.from(content ?? '') };
      if (reply.content.length > this.#session.maxContent) throw new MeshError('TOO_LARGE', 'the reply is too large');
    } catch (error) {
      const code = String(error.code || 'FAILED').slice(0, LONGEST_CODE);
      reply = { properties: packProperties({ code }), content: Buffer.from(String(error.message ?? error)) };
    }
    this.#running -= 1;
    if (epoch === this.#epoch) this.#settle(count, message.isRequest ? reply : null);
  }

  /** Settle a message. Settlements of one turn of the event loop are sent together. */
  #settle(count, reply) {
    if (!this.#settled) {
      const settled = (this.#settled = { done: [], replied: [], replies: [], bytes: 0 });
      setImmediate(() => settled === this.#settled && this.#tell());
    }
    const { done, replied, replies } = this.#settled;
    if (!reply) return done.push(count);
    replied.push(count);
    replies.push({ key: '', ...reply });
    this.#settled.bytes += reply.properties.length + reply.content.length;
    if (replied.length >= ENVELOPE_MESSAGES || this.#settled.bytes >= ENVELOPE_BYTES) this.#tell();
  }

  #tell() {
    const { done, replied, replies } = this.#settled;
    this.#settled = null;
    const sealed = replies.length && sealEnvelope({
      stream: this.#session.stream, domain: '', first: 1, low: 1, flags: 0, to: '', messages: replies,
    });
    const frames = sealed ? [sealed.bodyFrames] : [];
    this.#session.send([SETTLE, this.number, this.#epoch, rangesOf(done), replied, frames], sealed?.frames ?? []);
  }
}
