// Finds the node and its keys in the files of this user.
import { hkdfSync } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

function stateDirectory({ MESH_STATE_DIR, XDG_STATE_HOME = '' }) {
  if (MESH_STATE_DIR) return MESH_STATE_DIR;
  return isAbsolute(XDG_STATE_HOME) ? join(XDG_STATE_HOME, 'mesh') : join(homedir(), '.local/state/mesh');
}

/** Access to an address: `secret` to prove, `keys` for CURVE (or null) and `passwd`. */
export async function findAccess(address, environ) {
  if (!address.startsWith('tcp:')) return { secret: null, keys: null, passwd: '' };
  const folder = stateDirectory(environ);
  const cluster = await findCluster(address, environ);
  if (cluster === null) return { secret: await cookie(folder), keys: null, passwd: '' };
  const file = JSON.parse(await readFile(join(folder, 'keys', `${cluster}.json`), 'utf8'));
  const secret = Buffer.from(file.secret, 'base64');
  const proven = file.role === 'node' ? roleSecret(secret, cluster) : secret;
  return { secret: proven, keys: file, passwd: file.passwd, pins: join(folder, 'pins', cluster) };
}

/** Return whether the node of this name has the key of the first connection. A key that cannot be written is not
 *  pinned. */
export function isKnown(pins, name, key) {
  const path = join(pins, `${name}.key`);
  const hex = Buffer.from(key).toString('hex');
  try {
    mkdirSync(pins, { recursive: true, mode: 0o700 });
    writeFileSync(path, hex, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (error.code === 'EEXIST') return readFileSync(path, 'utf8') === hex;
  }
  return true;
}

/** The cookie: 32 bytes that all processes of this user can read. */
async function cookie(folder) {
  const path = join(folder, 'cookie');
  return readFile(path).catch(({ code }) => {
    const help = 'be the user of the node (MESH_STATE_DIR), or have its keys: mesh join';
    throw new Error(`${path} cannot be read (${code}): ${help}`);
  });
}

/** The mesh whose keys are used, or null. */
async function findCluster(address, environ) {
  if (environ.MESH_CLUSTER) return environ.MESH_CLUSTER;
  const here = (await runningNodes(environ)).find(({ tcp }) => isAt(tcp, address));
  if (here) return here.keyed ? here.cluster : null;
  const files = await readdir(join(stateDirectory(environ), 'keys')).catch(() => []);
  const names = files.filter((file) => /^[^.].*\.json$/.test(file)).map((file) => file.slice(0, -5));
  if (names.length > 1) throw new Error(`several meshes: choose one by MESH_CLUSTER=${names.join(' or ')}`);
  return names[0] ?? null;
}

const isAt = (tcp, address) =>
  /^tcp:\/\/(127\.|\[::1\])/.test(address) && tcp?.split(':').pop() === address.split(':').pop();

/** Derive the secret of the role `node` from the secret of the mesh. */
const roleSecret = (secret, cluster) =>
  Buffer.from(hkdfSync('sha256', secret, `heronry\0${cluster}`, 'role node', 32));

/** The address of the named node, by default of the only node on this machine. */
export async function findNode(name, environ) {
  const wanted = name || environ.MESH_URL || '';
  if (wanted.includes('://')) return wanted;
  const nodes = (await runningNodes(environ)).filter((node) => !wanted || node.name === wanted);
  if (nodes.length === 1) return nodes[0].ipc ?? nodes[0].tcp;
  const names = nodes.map((node) => node.name).join(', ');
  throw new Error(names ? `Several nodes run here: ${names}.` : `No node ${wanted} runs here. Start one with "mesh up".`);
}

async function runningNodes(environ) {
  const folder = join(stateDirectory(environ), 'nodes');
  const files = await readdir(folder).catch(() => []);
  const texts = files.filter((file) => file.endsWith('.json')).map((file) => readFile(join(folder, file), 'utf8'));
  const nodes = (await Promise.all(texts)).map((text) => JSON.parse(text));
  return nodes.filter(({ pid }) => isRunning(pid));
}

function isRunning(pid) {
  try {
    process.kill(pid, 0); // sends nothing
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
