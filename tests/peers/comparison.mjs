// Counts the tokens of the plans in plans/ and of their equivalents in docs/comparison/, and validates the latter.
// Usage: node comparison.mjs ROOT PLANRUN; prints the table of docs/language.md. Comments are left out everywhere.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import aslValidator from "asl-validator";
import serverlessWorkflow from "@serverlessworkflow/sdk";

const [root, planrun] = process.argv.slice(2);
const tokens = (text) => encode(text).length;
const isComment = (line) => /^\s*\/\//.test(line);

const withoutDoc = (value) => {
  if (Array.isArray(value)) return value.map(withoutDoc);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== "doc").map(([key, held]) => [key, withoutDoc(held)]));
};

const checkedYaml = (path) => {
  const text = readFileSync(path, "utf8");
  serverlessWorkflow.Classes.Workflow.deserialize(text).validate();
  return text;
};

const checkedStates = (path) => {
  const text = readFileSync(path, "utf8");
  const validate = typeof aslValidator === "function" ? aslValidator : aslValidator.default;
  const { isValid, errors } = validate(JSON.parse(text));
  if (!isValid) throw new Error(`${path}: ${JSON.stringify(errors)}`);
  return text;
};

const names = readdirSync(join(root, "docs/comparison")).filter((name) => name.endsWith(".asl.json")).map((name) => name.slice(0, -9)).sort();
const sums = [0, 0, 0, 0];
console.log("| plan | text | JSON form | Serverless Workflow | Step Functions |\n| --- | --- | --- | --- | --- |");
for (const name of names) {
  const plan = join(root, "plans", `${name}.plan`);
  const text = readFileSync(plan, "utf8").split("\n").filter((line) => !isComment(line)).join("\n").trim();
  const exported = JSON.parse(execFileSync(planrun, ["export", plan], { encoding: "utf8" }));
  const peer = (ending) => join(root, "docs/comparison", `${name}.${ending}`);
  const forms = [text, JSON.stringify(withoutDoc(exported)), checkedYaml(peer("sw.yaml")), JSON.stringify(JSON.parse(checkedStates(peer("asl.json"))))];
  const counts = forms.map(tokens);
  counts.forEach((count, index) => (sums[index] += count));
  console.log(`| ${name} | ${counts.join(" | ")} |`);
}
console.log(`| all | ${sums.join(" | ")} |`);
