// The official clients of two APIs ask a double of a model in three shapes: node clients.mjs ADDRESS PACKAGES.
// What they make of it, streamed and whole, has to be what the script says.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [address, packages] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const OpenAI = require("openai").OpenAI;
const Anthropic = require("@anthropic-ai/sdk").Anthropic;

const openai = new OpenAI({ baseURL: `${address}/v1`, apiKey: "sk-peer", maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: address, apiKey: "sk-peer", maxRetries: 0 });
const schema = { type: "object", properties: {}, additionalProperties: true };
const cold = [{ role: "user", content: "Is it cold?" }];
const model = "double";

// What a turn with calls comes to, whatever it is called in a shape.
const expected = {
  text: "One moment, please.",
  reasoning: "I should look.",
  calls: [["one", "weather", { city: "Ålesund" }], ["two", "time", {}]],
};

async function failures(what, ask, broken, limited, other) {
  await assert.rejects(ask("slow"), (error) => error instanceof limited && error.status === 429
    && error.message.includes("slow down") && error.headers.get("retry-after") === "1", `${what}: 429`);
  await assert.rejects(ask("unheard of"), (error) => error instanceof other && error.status === 400
    && error.message.includes("the script has no turn for this request"), `${what}: no turn`);
  await assert.rejects(broken(), (error) => error.message.includes("the model fell over"), `${what}: in the stream`);
}

async function chat() {
  const tools = [{ type: "function", function: { name: "weather", parameters: schema } }];
  let reasoning = "";
  const stream = openai.chat.completions.stream({ model, messages: cold, tools, stream_options: { include_usage: true } });
  stream.on("chunk", (chunk) => { reasoning += chunk.choices[0]?.delta.reasoning_content ?? ""; });
  const turn = await stream.finalChatCompletion();
  const { message, finish_reason } = turn.choices[0];
  const calls = message.tool_calls.map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments)]);
  assert.deepEqual({ text: message.content, reasoning, calls }, expected);
  assert.equal(finish_reason, "tool_calls");
  assert.deepEqual([turn.usage.prompt_tokens, turn.usage.completion_tokens, turn.usage.prompt_tokens_details.cached_tokens], [12, 5, 8]);

  const results = message.tool_calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "7 degrees" }));
  const format = { type: "json_schema", json_schema: { name: "verdict", schema, strict: true } };
  const last = await openai.chat.completions.create({ model, messages: [...cold, message, ...results], response_format: format });
  assert.deepEqual(JSON.parse(last.choices[0].message.content), { cold: true });
  const whole = await openai.chat.completions.create({ model, messages: [{ role: "user", content: "whole" }] });
  assert.equal(whole.choices[0].message.tool_calls[0].function.name, "weather");

  const ask = (content, stream) => openai.chat.completions.create({ model, messages: [{ role: "user", content }], stream });
  const broken = async () => { for await (const _ of await ask("broken", true)); };
  await failures("chat", ask, broken, OpenAI.RateLimitError, OpenAI.BadRequestError);
}

async function responses() {
  const tools = [{ type: "function", name: "weather", parameters: schema, strict: false }];
  const stream = openai.responses.stream({ model, input: cold, tools });
  let reasoning = "";
  stream.on("response.reasoning_summary_text.delta", (event) => { reasoning += event.delta; });
  const turn = await stream.finalResponse();
  const calls = turn.output.filter((item) => item.type === "function_call");
  const told = calls.map((call) => [call.call_id, call.name, JSON.parse(call.arguments)]);
  assert.deepEqual({ text: turn.output_text, reasoning, calls: told }, expected);
  assert.equal(turn.status, "completed");
  assert.deepEqual([turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.input_tokens_details.cached_tokens], [12, 5, 8]);

  const results = calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: "7 degrees" }));
  const format = { type: "json_schema", name: "verdict", schema, strict: true };
  const last = await openai.responses.create({ model, input: [...cold, ...turn.output, ...results], text: { format } });
  assert.deepEqual(JSON.parse(last.output_text), { cold: true });
  const whole = await openai.responses.create({ model, input: "whole" });
  assert.equal(whole.output_text, "It is 7 degrees.");
  assert.equal(whole.output[0].summary[0].text, "I know this.");

  const ask = (input, stream) => openai.responses.create({ model, input, stream });
  const broken = async () => { for await (const _ of await ask("broken", true)); };
  await failures("responses", ask, broken, OpenAI.RateLimitError, OpenAI.BadRequestError);
}

async function messages() {
  const tools = [{ name: "weather", input_schema: schema }];
  const base = { model, max_tokens: 100 };
  const turn = await anthropic.messages.stream({ ...base, messages: cold, tools }).finalMessage();
  const of = (type) => turn.content.filter((block) => block.type === type);
  const [thinking] = of("thinking");
  const calls = of("tool_use").map((call) => [call.id, call.name, call.input]);
  assert.deepEqual({ text: of("text")[0].text, reasoning: thinking.thinking, calls }, expected);
  assert.equal(thinking.signature, "signed");
  assert.equal(turn.stop_reason, "tool_use");
  assert.deepEqual([turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cache_read_input_tokens], [4, 5, 8]);

  const results = of("tool_use").map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "7 degrees" }));
  const conversation = [...cold, { role: "assistant", content: turn.content }, { role: "user", content: results }];
  const output_config = { format: { type: "json_schema", schema } };
  const last = await anthropic.messages.create({ ...base, messages: conversation, output_config });
  assert.deepEqual(JSON.parse(last.content[0].text), { cold: true });
  const whole = await anthropic.messages.create({ ...base, messages: [{ role: "user", content: "whole" }] });
  assert.deepEqual(whole.content.map((block) => block.type), ["thinking", "text", "tool_use"]);

  const ask = (content, stream) => anthropic.messages.create({ ...base, messages: [{ role: "user", content }], stream });
  const broken = async () => { for await (const _ of await ask("broken", true)); };
  await failures("messages", ask, broken, Anthropic.RateLimitError, Anthropic.BadRequestError);
}

for (const shape of [chat, responses, messages]) {
  await shape();
  console.log(`models: the official client and the double agree on ${shape.name}`);
}
