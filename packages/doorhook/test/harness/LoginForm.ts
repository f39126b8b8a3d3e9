/**
 * A person in front of doorhook's login form or its consent page, by a program that submits it as a browser would.
 */

const unescape = (html = ""): string =>
  html
    .replaceAll("&quot;", '"')
    .replaceAll(/&#(?:39|x27);/g, "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")

/**
 * Submits the form of a page, with what it carries along and what is filled in, to where the page came from or to another
 * process; answers where that leads.
 */
export const submit = async (
  page: Response,
  fields: Readonly<Record<string, string>>,
  cookie = "",
  base = page.url
): Promise<Response> => {
  const html = await page.text()
  const action = /<form[^>]*action="([^"]*)"/.exec(html)?.[1] ?? base
  const form = new URLSearchParams(fields)
  for (const [input] of html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    form.set(unescape(/name="([^"]*)"/.exec(input)?.[1]), unescape(/value="([^"]*)"/.exec(input)?.[1]))
  }
  return fetch(new URL(unescape(action), base), {
    method: "POST",
    redirect: "manual",
    headers: { cookie: [...page.headers.getSetCookie().map((set) => set.split(";")[0]), cookie].join("; ") },
    body: form
  })
}

/** Opens an authorize URL and logs in there. */
export const logIn = async (authorizeUrl: URL | string, login: string, password: string): Promise<Response> =>
  submit(await fetch(authorizeUrl), { login, password })
