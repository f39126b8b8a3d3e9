/** What stands in reports for the query of a URL, which may be a secret. It is not taken for one. */
export const hiddenQuery = "?..."
