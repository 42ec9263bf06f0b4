// Where is the node? The files of those that run here, and the secret for TCP.
import { readFile, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

function stateDirectory({ MESH_STATE_DIR, XDG_STATE_HOME = '' }) {
  if (MESH_STATE_DIR) return MESH_STATE_DIR;
  return isAbsolute(XDG_STATE_HOME) ? join(XDG_STATE_HOME, 'mesh') : join(homedir(), '.local/state/mesh');
}

/** 32 bytes that all processes of this user can read. */
export const cookie = (environ) => readFile(join(stateDirectory(environ), 'cookie'));

/** The address of a node by its name; without one of the only node that runs here. */
export async function findNode(name, environ) {
  const wanted = name || environ.MESH_URL || '';
  if (wanted.includes('://')) return wanted;
  const nodes = (await runningNodes(environ)).filter((node) => !wanted || node.name === wanted);
  if (nodes.length === 1) return nodes[0].ipc ?? nodes[0].tcp;
  const names = nodes.map((node) => node.name).join(', ');
  throw new Error(names ? `several nodes run here: ${names}` : `no node ${wanted} runs here: start one with "mesh up"`);
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
