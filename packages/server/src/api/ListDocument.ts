/**
 * The document of a page of a list, the same for every list that has numbered pages.
 */
import type { ApiSettingsShape } from "./ApiSettings.ts"
import type { PageRequest } from "./Pagination.ts"
import { pageInfo, pageLinks } from "./Pagination.ts"

/** What a page is described by. */
export interface PageOf {
  /** Where the list is, with the parameters that are not about pages. */
  readonly url: string
  readonly page: PageRequest
  /** How many items the whole list has, as far as they are counted. */
  readonly total: number
  /** Whether the list has more items than are counted. */
  readonly isCapped?: boolean
}

/** A page whose items are JSON texts. */
export const listText = (
  { isCapped, page, total, url }: PageOf,
  items: ReadonlyArray<string>,
  { topLevelPageInfo }: Pick<ApiSettingsShape, "topLevelPageInfo">
): string => {
  const page_info = { ...pageInfo(page, items.length, total), ...(isCapped === true && { total_is_capped: true }) }
  const rest = JSON.stringify({
    links: pageLinks(url, page, page_info),
    meta: { page_info },
    ...(topLevelPageInfo && { page_info })
  })
  return `{"data":[${items.join(",")}],${rest.slice(1)}`
}
