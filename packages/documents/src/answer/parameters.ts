// What sentences are chosen with for an answer: weights are shares of the weight of the question's words. They are
// fitted to the half of the questions of `npm run bench -- answers` that is read, by the column `correct`.

/** Once a passage answers, others add to it from this share of the threshold on. */
export const FURTHER_SHARE = 0.5
/** What the score of a passage gains where the turn before, which a question refers to, was answered from there. */
export const SAME_SECTION = 0.1
export const SAME_FILE = 0.05
/** The weight of each further passage, as a share of the one before. */
export const NEXT_HIT_SHARE = 0.93

// A sentence

/** Weight of a question's word that is part of many questions. */
export const GENERAL_SHARE = 0.5
/** The topic of a sentence is at its beginning: words of the question among its first ones count more. */
export const OPENING_WORDS = 6
export const OPENING_BONUS = 1.2
/** Weight of a question's word that is in the code or list below a sentence. */
export const BELOW_SHARE = 0.8
/** Weight of a word of the question in the heading above a sentence, not in it; `far` for upper ones and the file. */
export const HEADING_SHARE = { near: 0.6, far: 0.3 } as const
/** What the weight of a unit adds to the next one, which has the same topic; `code` for a code block below it. */
export const CARRIED = { text: 0.15, code: 0.5 } as const
/** Weight of the passage's score besides that of the sentence. */
export const SCORE_SHARE = 0.3
/** Added to a sentence with the kind of answer that the question asks for: a number, a date, a name. */
export const KIND_BONUS = 0.2
/** Factors for the form of a sentence. */
export const FORM = { first: 1.15, leansOnTheLast: 0.8, asksOrPointsElsewhere: 0.4, row: 0.9, fewWords: 0.5 } as const
/** Factors for a sentence that introduces code which the question asks for, other code, or nothing. */
export const INTRODUCES = { wantedCode: 1.1, otherCode: 0.7, nothing: 0.4 } as const
/** A shorter unit without a sentence's end, in characters, is a fragment: it means little without its heading. */
export const FRAGMENT_CHARS = 25
/** The weight of a fragment, as a share. */
export const FRAGMENT_SHARE = 0.8
/**
 * The weight of code, as a share: code has words of a question by chance more often. Where the question asks for no
 * code, that of a passage with only code, and of another.
 */
export const CODE_SHARE = { wanted: 0.9, only: 0.6, other: 0.3 } as const

// What is chosen

/** Sentences below this share of the best one's weight are left out. */
export const WEAKEST_SHARE = 0.6
/** A sentence repeats another one that has more than this part of the sentence's words... */
export const SAME_SHARE = 0.7
/** ...and one of whose words it has more than this part: a longer sentence adds to one that it begins like. */
export const WHOLE_SHARE = 0.9
/**
 * A list or table is quoted whole where its heading has this share of the weight of the question's words, and it has at
 * most so many items or rows, and characters.
 */
export const WHOLE_LIST = { heading: 0.8, units: 15, chars: 1_500 } as const
/** Units between a sentence and one with the date or number that is asked for. */
export const MAX_DISTANCE = 3
/** A passage of at most this many characters is quoted in full, up to the most sentences, ... */
export const SHORT_PASSAGE = 500
/** ...where the best sentence has a smaller part of the weight of the question's words than this. */
export const OWN_SHARE = 0.5
/** Sentences of a passage that is found only by its meaning. */
export const OPENING_SENTENCES = 2
/** Code blocks in one answer. */
export const MAX_CODE_BLOCKS = 2
/** Longer parts of code blocks, in characters, are left out: each is one line. */
export const MAX_CODE = 2_500
