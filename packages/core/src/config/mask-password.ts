/** The password of a URL, which may end where a text was cut, and the value of a parameter such as `password`. */
const PASSWORD = /(?<=:\/\/[^\s:/@'"]{0,100}:)\S*(?=[@…])|(?<=[?&]\w{0,20}password=)[^&\s'"]*/gi

/** Writes asterisks over the passwords of URLs in a text, also over those that are not percent-encoded. */
export function maskPasswords (text: string): string {
  return text.replace(PASSWORD, password => '*'.repeat(password.length))
}
