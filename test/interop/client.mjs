// Plays a scenario (see scenarios/README.md) with the official TypeScript client
// and prints what each step gave, as JSON:
//
//	node client.mjs SCENARIO DIR COMMAND [ARG...]
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ProgressNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const [scenarioFile, dir, command, ...args] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(scenarioFile, 'utf8').replaceAll('${dir}', dir));

// What the server sent of its own accord, by method, and who waits for it.
const sent = new Map();
const waiting = new Set();

function arrived(method, params) {
  if (!sent.has(method)) sent.set(method, []);
  sent.get(method).push(params);
  for (const look of waiting) look();
}

function awaitSent(method, containing = '') {
  return new Promise(resolve => {
    const look = () => {
      const found = (sent.get(method) ?? []).find(p => JSON.stringify(p).includes(containing));
      if (found === undefined) return;
      waiting.delete(look);
      resolve(found);
    };
    waiting.add(look);
    look();
  });
}

const client = new Client(
  { name: 'interop', version: '1' },
  { capabilities: { roots: {}, sampling: {}, elicitation: { form: {} } } },
);
client.setRequestHandler(ListRootsRequestSchema, () => ({
  roots: [{ uri: `file://${dir}`, name: 'the working directory' }],
}));
client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
  arrived('sampling/createMessage', params);
  return { role: 'assistant', model: 'none', stopReason: 'endTurn', content: { type: 'text', text: 'a sampled answer' } };
});
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  arrived('elicitation/create', params);
  return { action: 'accept', content: { name: 'Ada', check: true } };
});
for (const schema of [LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema]) {
  client.setNotificationHandler(schema, ({ method, params }) => arrived(method, params));
}

const methods = {
  'tools/list': (_, o) => client.listTools({}, o),
  'tools/call': (p, o) => client.callTool(p, undefined, o),
  'resources/list': (_, o) => client.listResources({}, o),
  'resources/templates/list': (_, o) => client.listResourceTemplates({}, o),
  'resources/read': (p, o) => client.readResource(p, o),
  'resources/subscribe': (p, o) => client.subscribeResource(p, o),
  'resources/unsubscribe': (p, o) => client.unsubscribeResource(p, o),
  'prompts/list': (_, o) => client.listPrompts({}, o),
  'prompts/get': (p, o) => client.getPrompt(p, o),
  'completion/complete': (p, o) => client.complete(p, o),
  ping: (_, o) => client.ping(o),
};

// A progress handler given with the request would miss a notification that
// arrives together with the result: the SDK forgets it then.
const progress = new Map(); // by token
client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => progress.get(params.progressToken)?.(params));

async function request(step) {
  const cancel = new AbortController();
  const params = { ...step.params };
  const told = [];
  let allTold;
  if (step.progress || step.cancelAfter) {
    params._meta = { progressToken: `progress-${progress.size}` };
    allTold = new Promise(resolve => {
      progress.set(params._meta.progressToken, p => {
        told.push(p);
        if (told.length === step.progress) resolve();
        if (told.length === step.cancelAfter) cancel.abort('enough');
      });
    });
  }
  try {
    const result = await methods[step.do](params, { signal: cancel.signal });
    if (!step.progress) return { result };
    await allTold;
    return { result, progress: told };
  } catch (e) {
    if (cancel.signal.aborted) return { error: { message: 'cancelled' } };
    return { error: { code: e.code, message: e.message, data: e.data } };
  }
}

async function play(step) {
  switch (step.do) {
    case 'together':
      return { results: await Promise.all(step.steps.map(play)) };
    case 'await':
      return { result: await awaitSent(step.what, step.containing) };
    default:
      return request(step);
  }
}

const transport = new StdioClientTransport({ command, args, env: process.env });
await client.connect(transport);
const given = [{ server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() }];
for (const step of steps) given.push(await play(step));
await client.close();
process.stdout.write(JSON.stringify(given));
