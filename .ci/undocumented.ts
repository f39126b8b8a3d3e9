/**
 * What an editor can't explain: exported types, methods and options without a doc comment in the declarations of a package.
 */
import { createRequire } from "node:module"
import type * as TypeScript from "../docs/node_modules/typescript/lib/typescript.js"

// The compiler of this workspace has no API; that of the documentation has.
const ts: typeof TypeScript = createRequire(new URL("../docs/package.json", import.meta.url))("typescript")

/** Declared by the package itself: what answers have comes from others. */
const isOwn = (symbol: TypeScript.Symbol): boolean =>
  /\/doorhook\/dist\//.test(symbol.declarations?.[0]?.getSourceFile().fileName ?? "")

/** Shapes of others, of which doorhook uses a part: their own documentation explains them. */
const isOfOthers = (type: TypeScript.Type): boolean =>
  /(Like|Host)$/.test((type.aliasSymbol ?? type.symbol)?.name ?? "")

/** The paths of the members below a type that have no doc comment. */
const membersOf = (checker: TypeScript.TypeChecker) => {
  const seen = new Set<TypeScript.Type>()
  const visit = (type: TypeScript.Type, path: string): ReadonlyArray<string> => {
    if (seen.has(type) || isOfOthers(type)) return []
    seen.add(type)
    const parts = type.isUnionOrIntersection() ? type.types : checker.getTypeArguments(Object(type))
    const primitive = ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike | ts.TypeFlags.BooleanLike
    const members = (type.flags & primitive) === 0 ? type.getProperties().filter(isOwn) : []
    return [
      ...parts.flatMap((part) => visit(part, path)),
      ...type
        .getCallSignatures()
        .flatMap(({ parameters }) => parameters)
        .flatMap((parameter) => visit(checker.getTypeOfSymbol(parameter), `${path}(${parameter.name})`)),
      ...members.flatMap((member) => {
        const at = `${path}.${member.name}`
        const below = visit(checker.getTypeOfSymbol(member), at)
        return member.getDocumentationComment(checker).length === 0 ? [at, ...below] : below
      })
    ]
  }
  return visit
}

/** What is exported by a module of declarations, and all that is reached from there, without a doc comment. */
export const undocumentedIn = (entry: string): ReadonlyArray<string> => {
  const { ES2024 } = ts.ScriptTarget
  const program = ts.createProgram([entry], { module: ts.ModuleKind.NodeNext, target: ES2024, strict: true, types: [] })
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(entry)
  const exported = file === undefined ? undefined : checker.getSymbolAtLocation(file)
  if (exported === undefined) throw new Error(`${entry} exports nothing`)
  const visit = membersOf(checker)
  return checker.getExportsOfModule(exported).flatMap((alias) => {
    const symbol = (alias.flags & ts.SymbolFlags.Alias) === 0 ? alias : checker.getAliasedSymbol(alias)
    const isType = (symbol.flags & (ts.SymbolFlags.Type | ts.SymbolFlags.Class)) !== 0
    const type = isType ? checker.getDeclaredTypeOfSymbol(symbol) : checker.getTypeOfSymbol(symbol)
    const below = visit(type, symbol.name)
    return symbol.getDocumentationComment(checker).length === 0 ? [symbol.name, ...below] : below
  })
}
