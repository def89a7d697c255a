// Bytes a token in the vocabulary o200k. Fails where the card has too many tokens, or a text far more than estimated.
import { existsSync, readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const [root, cases] = process.argv.slice(2);
const read = (path) => readFileSync(path, "utf8");
const card = read(`${root}/crates/planrun-serve/src/discovery/card.txt`);
const texts = {
  "the card": card,
  "the guide": read(`${root}/src/cli/language.md`),
  "the reference": read(`${root}/docs/language.md`),
};
if (cases && existsSync(`${cases}/mcp/tools-527.json`)) {
  const tools = JSON.parse(read(`${cases}/mcp/tools-527.json`));
  const descriptions = tools.map((tool) => tool.description ?? "");
  const names = (tool) => Object.keys(tool.inputSchema.properties ?? {}).join(", ");
  texts["descriptions of tools"] = descriptions.join("\n");
  texts["those in Chinese"] = descriptions.filter((text) => /\p{Script=Han}{10}/u.test(text)).join("\n");
  texts["names and arguments"] = tools.map((tool) => `${tool.server}.${tool.tool}(${names(tool)})`).join("\n");
  texts["JSON without spaces"] = JSON.stringify(JSON.parse(read(`${cases}/taubench/users.json`)));
}
let failed = false;
for (const [name, text] of Object.entries(texts)) {
  const ratio = Buffer.byteLength(text) / encode(text).length;
  console.log(`${name}: ${ratio.toFixed(2)} bytes a token`);
  failed ||= ratio < 3.5 * 0.9;
}
const tokens = encode(card).length;
console.log(`the card: ${tokens} tokens`);
process.exit(failed || tokens > 550 ? 1 : 0);
