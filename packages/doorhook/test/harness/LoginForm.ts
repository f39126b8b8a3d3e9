/**
 * Submits doorhook's login form or consent page like a user with a browser.
 */
import { filledIn, formIn } from "@doorhook/testkit/HtmlForm"

/**
 * Returns a function that makes the request a browser would send for the page's form, with its own and the given values.
 * The form can be sent repeatedly.
 */
export const formOf = async (page: Response, base: string, cookie = "") => {
  const form = formIn(await page.text())
  const cookies = [...page.headers.getSetCookie().map((set) => set.split(";")[0]), cookie].join("; ")
  return (fields: Readonly<Record<string, string>>): Request =>
    new Request(new URL(form?.action ?? base, base), {
      method: "POST",
      redirect: "manual",
      headers: { cookie: cookies },
      body: filledIn(form ?? { fields: {} }, fields)
    })
}

/**
 * Submits a page's form, with its hidden fields and the given values, to the same process or to another one. Returns
 * the redirect.
 */
export const submit = async (
  page: Response,
  fields: Readonly<Record<string, string>>,
  cookie = "",
  base = page.url
): Promise<Response> => fetch((await formOf(page, base, cookie))(fields))

/** Opens an authorize URL and logs in. */
export const logIn = async (authorizeUrl: URL | string, login: string, password: string): Promise<Response> =>
  submit(await fetch(authorizeUrl), { login, password })
