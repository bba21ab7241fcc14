export async function * stream_interpreter (question) {
  const [, grams = '500'] = /(\d+) ?g/.exec(question) ?? []
  yield `A parcel of ${grams} g costs ${grams > 1_000 ? 7 : 4} € and takes two days.`
}
