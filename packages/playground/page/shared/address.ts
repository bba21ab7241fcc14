/** An address of the web in a text, in a group for `split`. It is bounded, and marks behind it belong to the text. */
export const ADDRESS = /(https?:\/\/[^\s<>"'`]{0,16384}[^\s<>"'`.,;:!?)\]}*])/i

export const isWeb = (url: string): boolean => /^https?:\/\//i.test(url)
