/**
 * The operator key while the console is open: in this tab's session storage and nowhere else. It is in no address and in no
 * cookie, so that no other site can make the browser use it, and it is gone when the tab is closed.
 */
const name = "doorhook_operator_key"

export const key = () => sessionStorage.getItem(name)

/** @param {string} value */
export const keep = (value) => sessionStorage.setItem(name, value)

export const forget = () => sessionStorage.removeItem(name)
