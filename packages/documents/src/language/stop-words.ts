/**
 * Words without information in a question: function words, and words that questions begin with. They count only where a
 * query has no other words ("what is this").
 */
const FUNCTION_WORDS = `a an and any are as at be been being both but by for from had has have having here if in into is it its no not
of on or so such than that the their theirs then there these they this us to was were when which will with you your
am can don t s re ve ll d m isn doesn didn won aren wasn etc much many long often far`

const QUESTION_WORDS = `how do does did doing done i me my mine we our ours what where who whom whose why please explain tell mean means
meaning want should would could let lets there hello hi hey thanks thank`

/** Stop words that get a small weight in a search: "after" and "before" are often all that two passages differ in. */
export const COMMON_WORDS: ReadonlySet<string> = new Set(`he her hers him his itself just more most nor off once only other out over own same she some them those
through too under until up very while without yours cannot may might must shall also about after again all
before between during each few further against because above below vs via per show find give list get got
need happen happens`.split(/\s+/))

/** The same of languages without spaces between words, whose texts have no other list. */
const UNSPACED_WORDS = `は が の を に へ と で も から まで か や です ます ました ません でし ました して する した い る れ た て だ です 何 いつ どこ 誰
だれ どの どう なぜ ください こと もの これ それ 的 是 了 在 有 吗 呢 吧 和 与 或 也 都 就 我 你 他 她 它 这 那 哪 哪个 哪里 几 什么 多少 怎么 怎样 如何 为什么 谁
何时 可以 到 从 ที่ และ ใน กี่ ใคร อะไร ไหน เมื่อ เมื่อไร เมื่อไหร่ อย่างไร ของ เป็น คือ ให้ ได้ มี ไหม หรือ จะ กับ เท่าไร เท่าไหร่ ทำไม ต้อง แค่`

export const STOP_WORDS: ReadonlySet<string> = new Set([...`${FUNCTION_WORDS} ${QUESTION_WORDS} ${UNSPACED_WORDS}`.split(/\s+/), ...COMMON_WORDS])

/** Stems of words that are part of many questions: they weigh less when passages are compared. */
export const GENERAL_WORDS: ReadonlySet<string> = new Set(`set us make made work write run creat add support us provid
allow happen option valu exampl differ own new app applic`.split(/\s+/))
