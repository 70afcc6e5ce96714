// The peer of the pipeline rows: what a careful person would write by hand in Node. Arguments are
// checked with a compiled schema of eight fields, then an async tool that does nothing is called
// under a timeout. Speaks the lines of README.md beside this file.
//
//   node pipeline.mjs FOLDER     FOLDER holds node_modules/ajv

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2] ?? ".", "package.json"));
const Ajv = require("ajv/dist/2020").default;

const BATCH = 100;
const TIMEOUT_MS = 30_000;

const schema = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1 },
    content: { type: "string" },
    offset: { type: "integer", minimum: 0 },
    limit: { type: "integer", minimum: 1, maximum: 100_000 },
    recursive: { type: "boolean" },
    mode: { type: "string", enum: ["text", "binary", "auto"] },
    tags: { type: "array", items: { type: "string" } },
    ratio: { type: "number" },
  },
  required: ["path", "mode"],
  additionalProperties: false,
};

const args = {
  path: "src/main.rs",
  content: "hello",
  offset: 10,
  limit: 200,
  recursive: true,
  mode: "text",
  tags: ["a", "b"],
  ratio: 0.5,
};

const tools = new Map([
  ["bench.noop", { validate: new Ajv().compile(schema), run: async () => ({ text: "ok" }) }],
]);

async function call(name, given) {
  const tool = tools.get(name);
  if (!tool) return { ok: false, error: `unknown tool: ${name}` };
  if (!tool.validate(given)) return { ok: false, error: tool.validate.errors };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("timed out")), TIMEOUT_MS);
  });
  try {
    const result = await Promise.race([tool.run(given), late]);
    return { ok: true, result };
  } catch (error) {
    return { ok: false, error: String(error) };
  } finally {
    clearTimeout(timer);
  }
}

function demand(outcome) {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.error));
}

const kinds = {
  async single(calls) {
    for (let i = 0; i < calls; i++) demand(await call("bench.noop", args));
    return calls;
  },
  async batch(calls) {
    const batches = Math.ceil(calls / BATCH);
    for (let i = 0; i < batches; i++) {
      const all = Array.from({ length: BATCH }, () => call("bench.noop", args));
      for (const outcome of await Promise.all(all)) demand(outcome);
    }
    return batches * BATCH;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [kind, count] = line.trim().split(/\s+/);
  const calls = Number(count);
  if (!Object.hasOwn(kinds, kind) || !Number.isInteger(calls) || calls < 1) {
    process.stderr.write(`not a request: ${line}\n`);
    process.exit(2);
  }
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  const made = await kinds[kind](calls);
  const wall = Number(process.hrtime.bigint() - start);
  const used = process.cpuUsage(cpu);
  const answer = {
    ns_per_call: wall / made,
    cpu_ns_per_call: ((used.user + used.system) * 1000) / made,
  };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
