/**
 * Checks that editors can explain the API of `doorhook`. TypeScript's language service must find a comment in the
 * emitted declarations for each export and each member reachable from it. Needs `npm run build`.
 */
import ts from "../docs/node_modules/typescript/lib/typescript.js"

const root = new URL("..", import.meta.url).pathname
const entry = `${root}packages/doorhook/dist/index.d.ts`

/**
 * The types that users meet first. Their members need comments also where another package declares them. The value says
 * whether to follow the parameters of functions, or the results of functions that the host writes.
 */
const entries: Readonly<Record<string, "parameters" | "results">> = {
  DoorhookOptions: "results",
  SqlDirectoryOptions: "results",
  Doorhook: "parameters",
  DeliveryPage: "parameters",
  DeliveryDetail: "parameters"
}

/** Types of other libraries, which have their own documentation. */
const foreign = /Like$|Host$|^SqlQuery$/

/** Whether users can name a member. Declarations show private members as one. */
const isNamed = ({ name }: ts.Symbol): boolean => !name.startsWith("#") && !name.startsWith("__#")

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
const module = source && checker.getSymbolAtLocation(source)
if (module === undefined) throw new Error(`${entry} is missing; run npm run build`)

/** Returns whether the symbol needs a comment: a package of doorhook declares it, or the package `doorhook` itself. */
const isOurs =
  (isEntry: boolean) =>
  ({ declarations = [] }: ts.Symbol): boolean =>
    declarations.some((declaration) => {
      const { fileName } = declaration.getSourceFile()
      return isEntry ? !fileName.includes("/node_modules/") : fileName.includes("/packages/doorhook/dist/")
    })

const missing: Array<string> = []
const seen = new Set<ts.Type>()

const visit = (type: ts.Type, path: string, name: string): void => {
  if (seen.has(type) || foreign.test((type.aliasSymbol ?? type.symbol)?.name ?? "")) return
  seen.add(type)
  if (type.isUnion()) {
    for (const part of type.types) visit(part, path, name)
    return
  }
  for (const signature of type.getCallSignatures()) {
    const followed =
      entries[name] === "results"
        ? [signature.getReturnType()]
        : signature.getParameters().map((parameter) => checker.getTypeOfSymbol(parameter))
    for (const part of followed) visit(part, path, name)
  }
  for (const part of checker.getTypeArguments(Object(type))) visit(part, path, name)
  for (const member of type
    .getProperties()
    .filter(isNamed)
    .filter(isOurs(name in entries))) {
    const place = `${path}.${member.name}`
    if (member.getDocumentationComment(checker).length === 0) missing.push(place)
    visit(checker.getTypeOfSymbol(member), place, name)
  }
}

const isType = ts.SymbolFlags.Type | ts.SymbolFlags.Class
const exported = checker.getExportsOfModule(module)
const isFirst = ({ name }: ts.Symbol): boolean => name in entries
for (const alias of [...exported.filter(isFirst), ...exported.filter((one) => !isFirst(one))]) {
  const symbol = (alias.flags & ts.SymbolFlags.Alias) === 0 ? alias : checker.getAliasedSymbol(alias)
  if (symbol.getDocumentationComment(checker).length === 0) missing.push(symbol.name)
  const type = (symbol.flags & isType) === 0 ? checker.getTypeOfSymbol(symbol) : checker.getDeclaredTypeOfSymbol(symbol)
  visit(type, symbol.name, alias.name)
}

process.stdout.write(`${seen.size} types\n`)
if (missing.length > 0) {
  process.stderr.write(`Without a doc comment:\n${missing.join("\n")}\n`)
  process.exitCode = 1
}
