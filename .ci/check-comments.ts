/**
 * Checks that editors can explain the API of `doorhook`. TypeScript's language service must find a comment in the
 * emitted declarations for each option of `createDoorhook`, each method and its options, everything that the host's
 * functions return, and the members of a delivery. Needs `npm run build`.
 */
import ts from "../docs/node_modules/typescript/lib/typescript.js"

const root = new URL("..", import.meta.url).pathname
const entry = `${root}packages/doorhook/dist/index.d.ts`

/**
 * Exported types whose members need a comment. The value says whether the check includes the parameters or the results
 * of their functions.
 */
const checked = {
  DoorhookOptions: "results",
  SqlDirectoryOptions: "results",
  Doorhook: "parameters",
  DeliveryPage: "parameters",
  DeliveryDetail: "parameters"
} as const
type Direction = (typeof checked)[keyof typeof checked]

/** Types of other libraries, which have their own documentation. */
const foreign = ["FastifyHost", "PgLike", "SqliteLike", "SqlQuery"]

const program = ts.createProgram([entry], {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  strict: true,
  skipLibCheck: true,
  types: ["node"],
  typeRoots: [`${root}node_modules/@types`]
})
const checker = program.getTypeChecker()
const source = program.getSourceFile(entry)
const exports = source && checker.getSymbolAtLocation(source)?.exports
if (exports === undefined) throw new Error(`${entry} is missing; run npm run build`)

/** Whether one of doorhook's packages declares the symbol. */
const isOurs = ({ declarations = [] }: ts.Symbol): boolean =>
  declarations.some((declaration) => !declaration.getSourceFile().fileName.includes("/node_modules/"))

/** Whether a type has type arguments, like a promise or an array. */
const isReference = (type: ts.Type): type is ts.TypeReference => "target" in type

const missing: Array<string> = []
const seen = new Set<ts.Type>()

const visit = (type: ts.Type, path: string, direction: Direction): void => {
  if (seen.has(type) || foreign.includes((type.aliasSymbol ?? type.symbol)?.name)) return
  seen.add(type)
  if (type.isUnion()) {
    for (const part of type.types) visit(part, path, direction)
    return
  }
  for (const signature of type.getCallSignatures()) {
    const followed =
      direction === "results"
        ? [signature.getReturnType()]
        : signature.getParameters().map((parameter) => checker.getTypeOfSymbol(parameter))
    for (const part of followed) visit(part, path, direction)
  }
  if (isReference(type)) for (const part of checker.getTypeArguments(type)) visit(part, path, direction)
  for (const member of type.getProperties().filter(isOurs)) {
    const place = `${path}.${member.name}`
    if (member.getDocumentationComment(checker).length === 0) missing.push(place)
    visit(checker.getTypeOfSymbol(member), place, direction)
  }
}

for (const [name, direction] of Object.entries(checked)) {
  const exported = exports.get(ts.escapeLeadingUnderscores(name))
  if (exported === undefined) throw new Error(`doorhook exports no ${name}`)
  visit(checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(exported)), name, direction)
}

process.stdout.write(`${seen.size} types\n`)
if (missing.length > 0) {
  process.stderr.write(`Without a doc comment:\n${missing.join("\n")}\n`)
  process.exitCode = 1
}
