// The subscribing half: what arrived and is not used up, and what is no news.
const RANGES = 1000; // kept of a stream, and streams of a subscription

/** Messages, in order: `for await (const message of subscription)`. `lost` counts those that were
 *  dropped because this subscriber was too slow. */
export class Subscription {
  lost = 0;
  taken = 0; // items used up since the node began anew: its credit
  isReady = false; // the node knows of it

  #items = []; // [message, …] of each item that is not used up; `isOld` if from before the node began anew
  #inUse = null; // the item of the last message that was handed out
  #places = new Map(); // master -> twice how far its log has come, and 1 more if that place is passed
  #seen = new Map(); // stream and domain -> Seen
  #wake = null; // of the one who waits for a message
  #end = null;
  #owner;

  constructor(number, query, initial, owner) {
    Object.assign(this, { number, query, initial });
    this.#owner = owner;
  }

  /** An item came: of an envelope the messages that are for us. */
  arrived(messages, master, position) {
    const tooLate = new Set();
    const fresh = messages.filter((message) => this.#isNews(message, master, tooLate));
    // From a place in its master's log that was passed, it comes again after a crash. What of it is new
    // was dropped for us before, and would now come out of its order.
    const isPassed = this.#hasPassed(master, position, messages[0]) && this.number > 0; // no inbox
    const news = isPassed ? [] : fresh.filter((message) => !tooLate.has(message));
    this.lost += fresh.length - news.length;
    this.#items.push(news);
    this.#settle();
    if (this.#items.length) this.#wake?.();
  }

  /** Before the next item so many messages were dropped. */
  missed(dropped) {
    this.lost += dropped;
  }

  /** The node forgot what it had given: the count begins at 0. */
  begunAnew() {
    this.taken = 0;
    this.#items.forEach((item) => (item.isOld = true));
    if (this.isReady) return;
    this.#items = []; // it all comes again
    this.#seen.clear();
    this.#places.clear();
  }

  async next() {
    this.#inUse = null; // who asks for the next message is done with the one before
    this.#settle();
    while (!this.#items.length && !this.#end) {
      await new Promise((resolve) => (this.#wake = resolve));
    }
    if (this.#items.length) {
      this.#inUse = this.#items[0];
      return { value: this.#inUse.shift(), done: false };
    }
    if (this.#end.error) throw this.#end.error;
    return { value: undefined, done: true };
  }

  /** Also what a `for await` calls when it is left early. */
  async return() {
    await this.close();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async close() {
    if (!this.#end) await this.#owner.unsubscribe(this);
  }

  end(error) {
    this.#end ??= { error };
    this.#wake?.();
  }

  /** Items are used up in their order, also those of which nothing was news. */
  #settle() {
    while (this.#items.length && !this.#items[0].length && this.#items[0] !== this.#inUse) {
      if (!this.#items.shift().isOld) this.taken += 1;
      this.#owner.acknowledge();
    }
  }

  /** A transient message stands in no log: its position is the last one that went before it. That place is
   *  passed if our node is its master; else another way may bring a part of what stands there. */
  #hasPassed(master, position, message) {
    const isDirect = message?.route.at(-1)?.stratum === 0;
    const place = 2n * position + (isDirect && !message.persistent ? 1n : 0n);
    const last = this.#places.get(master) ?? 0n; // beyond what a Number holds
    this.#places.set(master, place > last ? place : last);
    return message?.persistent && place > 0n && place < last;
  }

  #isNews(message, master, tooLate) {
    const { stream, domain, number, persistent, state } = message;
    const name = `${stream}/${domain}`;
    const seen = this.#seen.get(name) ?? new Seen();
    this.#seen.delete(name); // to the end: the streams that were silent longest come first
    this.#seen.set(name, seen);
    if (this.#seen.size > RANGES) this.#seen.delete(this.#seen.keys().next().value);
    // What lies below what its master has brought comes from a master that was restarted, or by another way
    // of its publisher. What is persistent may be news, and so is what was sent to us; the rest is too late.
    // An older value is none. A new subscription gets values in any order.
    const isBehind = number < (seen.highest.get(master) ?? 0) && state !== 'ERASED' && this.number > 0;
    if (isBehind && state === 'INITIAL' && this.isReady) return false;
    if (isBehind && state !== 'INITIAL' && !persistent) tooLate.add(message);
    seen.highest.set(master, Math.max(number, seen.highest.get(master) ?? 0));
    return seen.add(number);
  }
}

/** Numbers of one stream, as ranges. */
class Seen {
  highest = new Map(); // master -> number
  #ranges = []; // [first, last], growing

  /** False if it was there. */
  add(number) {
    const ranges = this.#ranges;
    let at = ranges.length; // from the end: most numbers are new ones
    while (at && ranges[at - 1][0] > number) at -= 1;
    const before = ranges[at - 1];
    if (before && number <= before[1]) return false;
    if (before?.[1] === number - 1) before[1] = number;
    else ranges.splice(at++, 0, [number, number]);
    if (ranges[at]?.[0] === number + 1) {
      ranges[at - 1][1] = ranges[at][1];
      ranges.splice(at, 1);
    }
    if (ranges.length > RANGES) ranges.shift();
    return true;
  }
}
