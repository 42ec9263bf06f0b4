// The served addresses and the queue consumers of a client. Both consume, by number, over all connections.
export class Consumers {
  #calls;
  #all = new Map(); // by number
  #refused;

  /** `refused(address, error)` is called when a node ends one of them, or does not accept it again. */
  constructor(calls, refused) {
    this.#calls = calls;
    this.#refused = refused;
  }

  /** Whether a delivery is not settled. */
  get isBusy() {
    return [...this.#all.values()].some(({ isBusy }) => isBusy);
  }

  async open(consumer) {
    this.#all.set(consumer.number, consumer);
    try {
      await this.#consume(consumer);
    } catch (error) {
      this.#all.delete(consumer.number);
      throw error;
    }
    return consumer;
  }

  /** Send CONSUME. Delivery tags begin with the REPLY, so it is handled before later commands. */
  #consume(consumer) {
    consumer.isAsked = true;
    return this.#calls.ask((request) => consumer.command(request), (epoch) => consumer.opened(epoch));
  }

  async close(consumer) {
    if (!this.#all.delete(consumer.number)) return;
    consumer.lost();
    await this.#calls.ask((request) => consumer.command(request, 0)).finally(() => consumer.end(null));
  }

  /** Begin new epochs on a new connection, except where CONSUME is sent again anyway. */
  again() {
    for (const consumer of this.#all.values()) {
      if (!consumer.isAsked) this.#consume(consumer).catch((error) => this.ended(consumer.number, error));
    }
  }

  lost() {
    this.#all.forEach((consumer) => consumer.lost());
  }

  /** Handle an item for a consumer. Return false if `number` is none. */
  arrived(number, messages, head) {
    this.#all.get(number)?.arrived(messages, head);
    return this.#all.has(number);
  }

  ended(number, error) {
    const consumer = this.#all.get(number);
    if (!this.#all.delete(number)) return;
    consumer.end(error);
    if (error.code !== 'CLOSED') this.#refused(consumer.address, error);
  }

  fail(error) {
    this.#all.forEach((consumer) => consumer.end(error));
  }
}
