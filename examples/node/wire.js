// Commands, envelopes and their bytes, as docs/wire.md specifies them.
import { decode, encode } from '@msgpack/msgpack';

export const HELLO = 1, CHALLENGE = 2, WELCOME = 3, REFUSE = 4, WHO = 5, PING = 6, PONG = 7, BYE = 8;
export const PUBLISH = 20, ANSWERS = 21, ITEMS = 22, ACK = 23, UNKNOWN = 27;
export const SUBSCRIBE = 32, UNSUBSCRIBE = 33, CALL = 34, REPLY = 35, ENDED = 36;
export const CONSUME = 50, SETTLE = 51, COMMIT = 54;
const HEARD = new Set([CHALLENGE, WELCOME, REFUSE, WHO, PING, PONG, BYE, ANSWERS, ITEMS, UNKNOWN, REPLY, ENDED]);

export const VERSIONS = [1, 2]; // oldest and newest wire version of this client

export const PERSISTENT = 1, LOCAL_ONLY = 2, INITIAL = 4, FORCE_QUEUING = 8, ERASED = 16; // flags
export const RESENT = 256, EVERY = 512, REQUEST = 4096, ONE_SESSION = 131_072;
export const SENDS = 'address/'; // domain of messages to addresses
export const PUTS = 'queue/'; // first level of a queue's domain and destination

export const MIB = 2 ** 20;
export const ENVELOPE_MESSAGES = 2000;
export const ENVELOPE_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);

/** The first frame of a message. Inside its fields, numbers of more than 32 bits are BigInts. */
export const pack = (command) => packTimes(command);

/** A list as the content of a frame. */
export const packList = (items) => bytes(encode(items));

/** UNKNOWN, for a command of a later release, with its first field if that is small. */
export function packUnknown([tag, field = null]) {
  const size = encode(field, { useBigInt64: true }).length;
  return bytes(encode([UNKNOWN, tag, size > 64 ? null : field], { useBigInt64: true }));
}

/** Decode a message: {command, envelopes}. The rest of an unknown command is not read. */
export function readMessage(frames) {
  const command = read(frames[0]);
  if (!HEARD.has(command[0])) return { command, envelopes: [], isUnknown: true };
  const envelopes = [];
  let at = 1;
  for (const count of bodyFrames(command)) {
    const body = count === 1 ? frames[at + 1] : Buffer.concat(frames.slice(at + 1, at + 1 + count));
    envelopes.push(readEnvelope(frames[at], body));
    at += 1 + count;
  }
  if (at !== frames.length) throw new Error(`${frames.length} frames, but ${at} were announced`);
  return { command, envelopes };
}

function bodyFrames(command) {
  if (command[0] === ITEMS) return command[2].map((head) => head[0]);
  return command[0] === REPLY ? command[5] ?? [] : [];
}

/** A Date as ns since 1970. */
export const nanoseconds = (date) => BigInt(date.getTime()) * 1_000_000n;
const date = (ns) => new Date(Number(BigInt(ns) / 1_000_000n));

/**
 * The properties of one message; no bytes if all have their defaults. `isText` marks content that was published
 * as a string.
 */
export function packProperties({ headers = [], expires = null, priority = 5, code = '', isText = false }) {
  if (!headers.length && !expires && priority === 5 && !code && !isText) return NOTHING;
  const rest = isText ? [code, true] : code ? [code] : [];
  return packTimes([headers, expires ? nanoseconds(expires) : 0, priority, '', ...rest]);
}

/** Encode messages of one stream, numbered from `first`: {frames, bodyFrames, bytes}. */
export function sealEnvelope({ stream, domain, first, low, flags, to, put = null, messages }) {
  const keys = [...new Set(messages.map((message) => message.key))];
  const rows = new Map(keys.map((key, row) => [key, row]));
  const sizes = messages.map(({ properties, content }) => properties.length + content.length);
  const props = messages.map(({ properties }) => properties.length);
  const expiries = messages.filter(({ expires }) => expires).map(({ expires }) => expires.getTime());
  const header = packTimes([
    stream, domain, first, first + messages.length - 1, keys, messages.length,
    sizes.every((size) => size === sizes[0]) ? sizes[0] : column32(sizes),
    keys.length > 1 ? column16(messages.map(({ key }) => rows.get(key))) : NOTHING,
    props.some(Boolean) ? column32(props) : 0,
    flags, low, '', 0, expiries.length ? nanoseconds(new Date(Math.min(...expiries))) : 0,
    [], [], ...(to ? [to] : []), ...(put ? [put] : []),
  ]);
  const body = Buffer.concat(messages.flatMap(({ properties, content }) => [properties, content]));
  const chunks = [];
  do chunks.push(body.subarray(chunks.length * MIB, (chunks.length + 1) * MIB));
  while (chunks.length * MIB < body.length);
  return { frames: [header, ...chunks], bodyFrames: chunks.length, bytes: body.length };
}

/** Decode an envelope: the fields that its messages share, and the messages. */
function readEnvelope(frame, body) {
  const [
    stream, domain, first, last, keys, count, sizes, index = NOTHING, props = 0, flags = 0,
    , sender = '', sent = 0, , route = [], ranges = [], to = '',
  ] = read(frame);
  const envelope = {
    stream: Buffer.from(stream).toString('hex'), domain, flags, sender, to, sent: date(sent),
    route: route.map(([node, stratum, at]) => ({ node, stratum: Number(stratum), at: date(at) })),
  };
  const numbers = numbersOf(ranges.length ? ranges : [first, last]);
  let at = 0;
  envelope.messages = Array.from({ length: count }, (_, i) => {
    const start = at + entry32(props, i);
    const properties = readProperties(body.subarray(at, start));
    at += entry32(sizes, i);
    const content = body.subarray(start, at);
    return new Message(envelope, numbers[i], keys[entry16(index, i)], content, ...properties);
  });
  if (at !== body.length) throw new Error(`sizes add up to ${at}, the body has ${body.length} bytes`);
  return envelope;
}

function numbersOf(ranges) {
  const numbers = [];
  for (let i = 0; i < ranges.length; i += 2) {
    for (let n = Number(ranges[i]); n <= ranges[i + 1]; n++) numbers.push(n);
  }
  return numbers;
}

function readProperties(data) {
  const [headers = [], expires = 0, priority = 5, , code = '', isText = false] = data.length ? read(data) : [];
  return [headers, expires ? date(expires) : null, priority, code, isText];
}

/** A received message. `content` is a Buffer, `isText` whether it was published as a string; `state` is OK, INITIAL
 *  or ERASED; `late` whether a newer message of its publisher and domain arrived before. */
export class Message {
  constructor(envelope, number, key, content, headers, expires, priority, code, isText) {
    const { stream, domain, flags, sender, sent, to, route } = envelope;
    Object.assign(this, { key, domain, content, isText, headers, sender, sent, expires, priority, to, route });
    this.id = domain ? `${stream}/${domain}:${number}` : `${stream}:${number}`;
    this.persistent = Boolean(flags & PERSISTENT);
    this.late = false;
    this.state = flags & ERASED ? 'ERASED' : flags & INITIAL ? 'INITIAL' : 'OK';
    Object.defineProperties(this, {
      stream: { value: stream },
      number: { value: number },
      code: { value: code }, // of a reply that is a refusal
      isRequest: { value: Boolean(flags & REQUEST) },
    });
  }

  /** Return a copy of the class `kind`, with more fields. */
  as(kind, fields) {
    return Object.assign(Object.create(kind.prototype, Object.getOwnPropertyDescriptors(this)), fields);
  }

  get text() {
    return this.content.toString();
  }

  /** The first header of this name, whatever its case. */
  header(name) {
    return this.headers.find(([known]) => known.toLowerCase() === name.toLowerCase())?.[1];
  }
}

// --- bytes ---------------------------------------------------------------------------------------

const bytes = (view) => Buffer.from(view.buffer, view.byteOffset, view.length);
const read = (frame) => decode(frame, { useBigInt64: true });

/** An array that may hold times: with `useBigInt64` every integer of more than 32 bits must be a BigInt. */
const packTimes = (fields) =>
  bytes(encode(fields.map((field) => (isLarge(field) ? BigInt(field) : field)), { useBigInt64: true }));
const isLarge = (field) => typeof field === 'number' && (field >= 2 ** 32 || field < -(2 ** 31));

function column16(numbers) {
  const column = Buffer.alloc(2 * numbers.length);
  numbers.forEach((number, i) => column.writeUInt16LE(number, 2 * i));
  return column;
}

function column32(numbers) {
  const column = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, i) => column.writeUInt32LE(number, 4 * i));
  return column;
}

const entry16 = (column, i) => (column.length ? bytes(column).readUInt16LE(2 * i) : 0);
const entry32 = (column, i) => (column instanceof Uint8Array ? bytes(column).readUInt32LE(4 * i) : Number(column));

/** The places that a column names in an envelope of `count` messages. An empty column names all. */
export const places = (column, count) =>
  Array.from({ length: column.length ? column.length / 2 : count }, (_, i) => (column.length ? entry16(column, i) : i));

/** Ranges of numbers: first, last, first, last, … */
export function rangesOf(numbers) {
  const ranges = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    if (ranges.at(-1) === number - 1) ranges[ranges.length - 1] = number;
    else ranges.push(number, number);
  }
  return ranges;
}
