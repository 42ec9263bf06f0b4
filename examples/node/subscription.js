// Subscribing: received messages that are not used up, and duplicates.
import { Message, SUBSCRIBE } from './wire.js';

const MASTERS = 64; // masters in SUBSCRIBE
const RANGES = 1000; // ranges of a stream, and streams of a subscription, that are kept

/** Messages, in order: `for await (const message of subscription)`. `lost` counts messages that were dropped because
 *  this subscriber was too slow, `unknownGaps` how often an unknown number of transient messages may be missing. */
export class Subscription {
  lost = 0;
  unknownGaps = 0;
  taken = 0; // items used up since the node began anew: its credit
  isReady = false; // confirmed by the node

  #began = new Map(); // master -> first position of the subscription
  #items = []; // messages of each item that is not used up; `isOld`: from before the node began anew
  #inUse = null; // item of the last delivered message
  #places = new Map(); // master -> twice its last position, plus 1 if that position is passed
  #hasTransient = false; // a transient message has arrived
  #seen = new Map(); // stream and domain -> Seen
  #wake = null; // resolves the wait for a message
  #end = null;
  #owner;

  constructor(number, query, initial, owner) {
    Object.assign(this, { number, query, initial });
    this.#owner = owner;
  }

  /** SUBSCRIBE. `isMoving`: other nodes may hold messages, so the position in each master's log is included. */
  command(request, { isResumed = false, isMoving = false } = {}) {
    const { number, query, initial } = this;
    const more = isMoving ? ['', 0, this.#since()] : [];
    return [SUBSCRIBE, request, number, query, initial, isResumed, ...more];
  }

  /** Handle the REPLY to the first SUBSCRIBE, with the position in each master's log at which it began. */
  confirmed({ since = [] }) {
    this.isReady = true;
    for (const [master, place] of since) this.#began.set(Buffer.from(master).toString('hex'), BigInt(place) + 1n);
  }

  #since() {
    const seen = [...this.#places].filter(([, place]) => place > 1n).map(([master, place]) => [master, place / 2n]);
    return [...new Map([...this.#began, ...seen])].slice(-MASTERS).map(([m, place]) => [Buffer.from(m, 'hex'), place]);
  }

  /** Handle an item: the messages of an envelope for this subscription. */
  arrived(messages, master, position) {
    const tooLate = new Set();
    this.#hasTransient ||= messages.some(({ persistent, state }) => !persistent && state !== 'ERASED');
    const fresh = messages.map((message) => this.#news(message, master, tooLate)).filter(Boolean);
    // An envelope at a passed position is resent after a crash. Its new messages were dropped before, and would now
    // be out of order.
    const isPassed = this.#hasPassed(master, position, messages[0]) && this.number > 0; // the inbox is exempt
    const news = isPassed ? [] : fresh.filter((message) => !tooLate.has(message));
    this.lost += fresh.length - news.length;
    this.#items.push(news);
    this.#settle();
    if (this.#items.length) this.#wake?.();
  }

  /** Count messages that were dropped before the next item; 0: an unknown number of transient ones. */
  missed(dropped) {
    this.lost += dropped;
    if (!dropped && this.#hasTransient) this.unknownGaps += 1;
  }

  /** Count from 0, as the node does after a restart. */
  begunAnew() {
    this.taken = 0;
    this.#items.forEach((item) => (item.isOld = true));
    if (this.isReady) return;
    this.#items = []; // the node resends everything
    this.#seen.clear();
    this.#places.clear();
  }

  async next() {
    this.#inUse = null; // asking for the next message ends the previous one
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

  /** End the subscription. `for await` calls this when it is left early. */
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

  /** Use up items in order, also items that were all duplicates. */
  #settle() {
    while (this.#items.length && !this.#items[0].length && this.#items[0] !== this.#inUse) {
      if (!this.#items.shift().isOld) this.taken += 1;
      this.#owner.acknowledge();
    }
  }

  /** Return whether that position of the master's log is passed. The position of a transient message is the last one
   *  before it. It passes that position only if the client's node is the master: another route may still deliver a
   *  part of the envelope there. */
  #hasPassed(master, position, message) {
    const isDirect = message?.route.at(-1)?.stratum === 0;
    const place = 2n * position + (isDirect && !message.persistent ? 1n : 0n);
    const last = this.#places.get(master) ?? 0n; // exceeds the range of a Number
    this.#places.set(master, place > last ? place : last);
    return message?.persistent && place > 0n && place < last;
  }

  /** The message, or a copy that is marked as late; null for a duplicate. */
  #news(message, master, tooLate) {
    const { stream, domain, number, persistent, state } = message;
    const name = `${stream}/${domain}`;
    const seen = this.#seen.get(name) ?? new Seen();
    this.#seen.delete(name); // the stream with the oldest message comes first
    this.#seen.set(name, seen);
    if (this.#seen.size > RANGES) this.#seen.delete(this.#seen.keys().next().value);
    // A number below the master's highest comes after a restart of the master, or by another route. A persistent or
    // direct message may be new; others are too late. An older retained value is never new, except that a new
    // subscription gets retained values in any order.
    const isBehind = number < (seen.highest.get(master) ?? 0) && state !== 'ERASED' && this.number > 0;
    if (isBehind && state === 'INITIAL' && this.isReady) return null;
    const isLate = number < seen.top && state !== 'INITIAL' && this.number > 0;
    const news = isLate ? message.as(Message, { late: true }) : message;
    if (isBehind && state !== 'INITIAL' && !persistent) tooLate.add(news);
    seen.highest.set(master, Math.max(number, seen.highest.get(master) ?? 0));
    return seen.add(number) ? news : null;
  }
}

/** Numbers of one stream, as ranges. */
class Seen {
  highest = new Map(); // master -> number
  #ranges = []; // [first, last], growing

  /** The highest number, of any master. */
  get top() {
    return this.#ranges.at(-1)?.[1] ?? 0;
  }

  /** Add a number. Return false if it was known. */
  add(number) {
    const ranges = this.#ranges;
    let at = ranges.length; // from the end, as most numbers are new
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
