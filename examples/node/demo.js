// A command line for the client.
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { connect } from './heronry.js';

const USAGE = `node demo.js COMMAND [OPTION…]

  publish KEY [TEXT]          without TEXT each line of stdin is a message
  subscribe KEY_OR_PATTERN    --count N: end after N messages
  get KEY_OR_PATTERN          --fresh: ask the master, not the cache of this node
  send DESTINATION TEXT       --force-queuing: wait for a session that is not connected
  inbox                       --count N
  erase KEY
  where NAME                  prints the nodes that have the name, such as client/joe
  request ADDRESS [TEXT]      prints the reply of one server; --timeout S
  serve ADDRESS TEXT          replies with TEXT to each request; --count N

  for publish and send        --header NAME=VALUE (more than once), --persistent
  for all                     --domain D, --name NAME, --session N, --node NAME_OR_ADDRESS (more than once)`;

const OPTIONS = {
  name: { type: 'string', default: '' },
  session: { type: 'string', default: '0' },
  node: { type: 'string', multiple: true, default: [] },
  domain: { type: 'string', default: '' },
  count: { type: 'string', default: 'Infinity' },
  header: { type: 'string', multiple: true, default: [] },
  persistent: { type: 'boolean', default: false },
  timeout: { type: 'string', default: '10' },
  fresh: { type: 'boolean', default: false },
  'force-queuing': { type: 'boolean', default: false },
};

const COMMANDS = {
  async publish(mesh, options, key, text) {
    const lines = text === undefined ? createInterface({ input: process.stdin }) : [text];
    const answers = [];
    for await (const line of lines) answers.push(told(mesh.publish(key, line, options)));
    await Promise.all(answers);
  },

  async subscribe(mesh, { count, ...options }, keyOrPattern) {
    await show(await mesh.subscribe(keyOrPattern, options), count, `subscribed to ${keyOrPattern}`);
  },

  async get(mesh, options, keyOrPattern) {
    const { messages, missing } = await mesh.get(keyOrPattern, options);
    messages.forEach(print);
    if (missing.length) console.error(`no answer from ${missing.join(', ')}`);
  },

  async send(mesh, options, destination, text) {
    await told(mesh.send(destination, text, options));
  },

  async inbox(mesh, { count }) {
    await show(await mesh.inbox(), count, `inbox of ${mesh.name}`);
  },

  async erase(mesh, options, key) {
    console.log((await mesh.erase(key, options)).join('\n') || 'nothing there');
  },

  async where(mesh, options, name) {
    const { sightings, missing } = await mesh.where(name);
    for (const { name: full, node, state, by } of sightings) {
      console.log(`${full}  ${node}  ${state}${by === node ? '' : ` (reported by ${by})`}`);
    }
    if (missing.length) console.error(`no answer from ${missing.join(', ')}`);
  },

  async request(mesh, { headers, timeout }, address, text = '') {
    print(await mesh.request(address, text, { headers, timeout: Number(timeout) }));
  },

  async serve(mesh, { count }, address, text = '') {
    let shown = 0;
    const isOver = new Promise((resolve) => mesh.once('served', resolve));
    const service = await mesh.serve(address, (request) => {
      print(request);
      if (++shown >= count) setTimeout(() => mesh.emit('served'), 100); // after the reply was sent
      return text;
    });
    console.error(`serves ${address}`);
    await isOver;
    await service.close();
  },
};

/** Report the answer of a publish, and the final answer if it waits. */
async function told(published) {
  const { state, note, id, final } = await published;
  if (state === 'OK') return;
  console.error(`${id} ${state}: ${note}`);
  console.error(`${id} ${(await final).state}`);
}

async function show(messages, count, ready) {
  console.error(ready);
  let shown = 0;
  for await (const message of messages) {
    print(message);
    if (++shown >= count) break;
  }
}

function print({ key, text, state, headers, sender }) {
  const more = headers.map(([name, value]) => `  ${name}=${value}`).join('');
  const from = key || sender;
  console.log(`${from}  ${state === 'ERASED' ? '(erased)' : text}${more}`);
}

async function main() {
  const { values, positionals: [command, ...words] } = parseArgs({ options: OPTIONS, allowPositionals: true });
  if (!Object.hasOwn(COMMANDS, command ?? '')) throw new Error(USAGE);
  const mesh = await connect({ name: values.name, session: Number(values.session), node: values.node });
  mesh.on('disconnected', (reason) => console.error(`disconnected: ${reason}`));
  mesh.on('connected', () => console.error('connected again'));
  mesh.on('session_moved', ({ from, to }) => console.error(`moved from ${from} to ${to}`));
  const options = {
    ...values,
    count: Number(values.count),
    headers: values.header.map((header) => header.split(/=(.*)/s, 2)),
    forceQueuing: values['force-queuing'],
  };
  try {
    await COMMANDS[command](mesh, options, ...words);
  } finally {
    await mesh.close();
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
