// Messages and queries, made from the arguments of a program.
import { MeshError } from './handshake.js';
import { EVERY, FORCE_QUEUING, ONE_SESSION, PERSISTENT, PUTS, SENDS, packProperties } from './wire.js';

const LONGEST_KEY = 512; // characters of a key or destination
const LARGEST_PROPERTIES = 65_536; // bytes

/** The query of a key or pattern. No key can have a level that is + or #. */
export function query(text, domain) {
  const isPattern = text.split('/').some((level) => level === '+' || level === '#');
  return [isPattern ? 'pattern' : 'exact', text, domain];
}

/** A message that can be published, without its number. `most`: bytes of a content. */
export function messageOf(key, content, to, { headers = [], expiry = 0, priority = 5 }, most) {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
  const expires = expiry ? new Date(Date.now() + 1000 * expiry) : null;
  const message = {
    key,
    content: Buffer.from(content),
    properties: packProperties({ headers: pairs, expires, priority, isText: typeof content === 'string' }),
    expires,
  };
  check([...key].length <= LONGEST_KEY, 'BAD_KEY', `a key of more than ${LONGEST_KEY} characters`);
  check([...to].length <= LONGEST_KEY, 'BAD_NAME', `a destination of more than ${LONGEST_KEY} characters`);
  check(message.content.length <= most, 'TOO_LARGE', `a content of more than ${most} bytes`);
  check(message.properties.length <= LARGEST_PROPERTIES, 'TOO_LARGE', 'headers of more than 64 KiB');
  return message;
}

/** The envelope of a message to `destination`: {to, domain, flags, feature}, where `feature` is needed of the node. */
export function directly(destination, { domain = '', persistent, forceQueuing, delivery = '' }) {
  check(['', 'one', 'all'].includes(delivery), 'BAD_ARGUMENT', `delivery is 'one' or 'all', not '${delivery}'`);
  const to = sessionName(destination);
  const flags = (persistent ? PERSISTENT : 0) + (forceQueuing ? FORCE_QUEUING : 0);
  if (!/^(client\/|\/)/.test(to)) {
    return { to, domain: SENDS, flags: flags + (delivery === 'all' ? EVERY : 0), feature: 'services' };
  }
  const isToOne = delivery === 'one' && !/\/session\/[^/]+$/.test(to);
  return isToOne ? { to, domain, flags: flags + ONE_SESSION, feature: 'direct' } : { to, domain, flags, feature: '' };
}

/** The envelope of a message into a queue, as in `directly`. */
export function intoQueue(queue, { persistent = true, priority = 5, delay = 0, group = '' }) {
  const put = [priority, Math.ceil(1000 * delay), group];
  return { to: PUTS + queue, domain: PUTS + queue, flags: persistent ? PERSISTENT : 0, put, feature: 'queues' };
}

/** Return the name as nodes know it: client/joe/1 is short for client/joe/session/1. */
function sessionName(to) {
  const short = /^((?:\/.*\/)?client\/[^/]+)\/(-?[1-9]\d*)$/.exec(to);
  return short && !/client\/[^/]+\/session\/[^/]+$/.test(to) ? `${short[1]}/session/${short[2]}` : to;
}

export function check(isGood, code, text) {
  if (!isGood) throw new MeshError(code, text);
}
