/**
 * Words without information in a question: function words, and words that questions begin with. They count only where a
 * query has no other words ("what is this").
 */
const FUNCTION_WORDS = `a an and any are as at be been being both but by for from had has have having he her here hers
him his if in into is it its itself just more most no nor not of off on once only or other out over own same she so
some such than that the their theirs them then there these they this those through to too under until up us very was
were when which while will with without you your yours am can cannot may might must shall also about after again all
before between during each few further against because above below don t s re ve ll d m isn doesn didn won aren wasn
vs via per etc`

const QUESTION_WORDS = `how do does did doing done i me my mine we our ours what where who whom whose why please explain
tell about mean means meaning show give find list get got want need should would could let lets happen happens
there hello hi hey thanks thank`

export const STOP_WORDS: ReadonlySet<string> = new Set(`${FUNCTION_WORDS} ${QUESTION_WORDS}`.split(/\s+/))

/** Stems of words that are part of many questions: they weigh less when passages are compared. */
export const GENERAL_WORDS: ReadonlySet<string> = new Set(`set us make made work write run creat add support us provid
allow happen option valu exampl differ own new app applic`.split(/\s+/))
