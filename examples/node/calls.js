// Commands that wait for a REPLY, over all connections.
import { MeshError } from './handshake.js';

export class Calls {
  #session;
  #open = new Map(); // by request
  #asked = 0;
  #error = null; // reason of the end

  constructor(session) {
    this.#session = session;
  }

  /** Number of commands without a REPLY. */
  get count() {
    return this.#open.size;
  }

  /** The number of a request of which the REPLY is ignored. */
  next() {
    return ++this.#asked;
  }

  /**
   * Send `commandOf(request)`, and again after each reconnect. Resolves with {value, messages} of the REPLY. The
   * function `heard(value)` is called before later commands are handled.
   */
  async ask(commandOf, heard = () => {}) {
    if (this.#error) throw this.#error;
    return new Promise((resolve, reject) => {
      this.#put({ commandOf, heard, resolve, reject, isOnce: false });
    });
  }

  /** Send a command that is forgotten with this connection. `refused(error)` is called for a refusal. */
  askOnce(commandOf, heard, refused = () => {}) {
    this.#put({ commandOf, heard, resolve: () => {}, reject: refused, isOnce: true });
  }

  #put(call) {
    const request = this.next();
    this.#open.set(request, { ...call, messages: [] });
    this.#session.send(call.commandOf(request));
  }

  replied([, request, value = null, code = '', text = ''], envelopes) {
    const call = this.#open.get(request);
    if (!call) return;
    envelopes.forEach(({ messages: [message] }, i) => {
      const [source, stale] = value.sources?.[i] ?? ['', null];
      call.messages.push(Object.assign(message, { source, stale }));
    });
    if (value?.more) return;
    this.#open.delete(request);
    if (code) return call.reject(new MeshError(code, text));
    call.heard(value);
    call.resolve({ value, messages: call.messages });
  }

  /** Forget the commands that belong to the lost connection. */
  lost() {
    for (const [request, call] of this.#open) if (call.isOnce) this.#open.delete(request);
  }

  /** Send the commands of earlier connections again. */
  again() {
    for (const [request, call] of this.#open) {
      if (call.isOnce) continue; // sent on this connection
      call.messages = [];
      this.#session.send(call.commandOf(request));
    }
  }

  fail(error) {
    this.#error = error;
    const calls = [...this.#open.values()];
    this.#open.clear();
    calls.forEach((call) => call.reject(error));
  }
}
