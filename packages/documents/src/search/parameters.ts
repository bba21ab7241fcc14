// What the order of passages and their score are fitted with: docs/decisions/0022 and 0027, bench/answers/NOTES.md.
// A change of one is a change of the others: `npm run bench -- answers` prints what is found, answered and answered
// wrongly.

// Terms of a query

/** A rare word means more next to a common one than their idf: hit@1 rises by up to 0.7 points. */
export const IDF_POWER = 1.3
/** Weight of a term of the turn before. */
export const CONTEXT_SHARE = 0.5
/** How much a word means the term that it is a synonym of. */
export const SYNONYM_SHARE = 0.4
/** A word of more passages is not searched as its synonyms, which costs 3 ms in an index of 50,000 passages. */
export const MAX_FOR_SYNONYMS = 30
/** Letters of the stem of a word that is a part of another, and of the rest: shorter ones are endings or chance. */
export const MIN_PART = 5
export const MIN_REST = 3
/** Passages of which only the length of a word is known, besides those of an index in another language than English. */
export const OWN_BACKGROUND = 100
/** The share of usual passages with a syllable of a language that is written in them. */
export const SYLLABLE_SHARE = 0.7
/**
 * The share of usual passages with a word of another language than English is 2 to the power of
 * -(`start` + `letter` for each of its letters).
 */
export const RARITY = {
  ideographs: { start: 1, letter: 2 },
  unspaced: { start: 1, letter: 0.5 },
  spaced: { start: 2, letter: 0.5 }
} as const

// Misspelled words

/** Words of the index that a misspelled one may stand for. */
export const MAX_SIMILAR = 3
/** Shorter words are not corrected: too many are similar. */
export const MIN_CORRECTED = 5
/** From this length of a word, or of its stem, on, two mistakes are corrected. */
export const TWO_MISTAKES_LENGTH = 8
/** Letters that a word has in common with those of the index that it is compared with. */
export const SAME_LETTERS = 2
/** Likeness of a word that differs by so many mistakes. */
export const LIKENESS_OF_MISTAKES = [1, 0.9, 0.6] as const

// Passages that are compared

/** Every passage found has one of the rarest terms: the others together weigh less than this share of the query. */
export const ESSENTIAL_SHARE = 0.35
/** A term in more passages is not read in full where another one is. All are, where their lists have fewer together. */
export const MANY_PASSAGES = 1_500

// How well a passage fits

/** `lastHeading`: a term in the last heading counts like so many in the text. */
export const BM25 = { k1: 1.2, b: 0.5, averageWords: 120, lastHeading: 3 } as const
/** Terms that are so many words farther apart than neighbours are half as near. */
export const HALF_PROXIMITY = 4
/** Weight of a term that is part of many questions, in headings. */
export const GENERAL_SHARE = 0.5
/**
 * `upper` is the weight of a heading above the last one. A heading with other words than those of the query has at
 * least the share `withOthers`.
 */
export const HEADING = { share: 0.6, upper: 0.5, withOthers: 0.4 } as const
export const NAME_SHARE = 0.15
/** Weights of the fit for the order of passages. */
export const ORDER = {
  bm25: 4,
  coverage: 1.5,
  proximity: 0.63,
  heading: 8.5,
  sentence: 1.2,
  pair: 2.4,
  meant: 2.3,
  sentenceMeant: 2.7,
  last: 2.1,
  name: 4.1,
  words: 0.42,
  code: 0.84,
  document: 1.5,
  likeness: 6
} as const
/** Likeness of a passage without a vector next to others with one. */
export const UNKNOWN_LIKENESS = 0.15

/** Words whose vectors are less like are not near in meaning. */
export const LEAST_LIKENESS = 0.45

// The probability that a passage answers

/** Logistic regression over questions of which a third have no answer. */
export const LOGISTIC = {
  proximity: 1.87,
  heading: 5.7,
  meant: 1.89,
  sentenceMeant: 4.1,
  name: 5.6,
  found: 0.084,
  perTerm: -1.79,
  passages: -0.28,
  lack: -2.85,
  constant: -1.23
} as const
/** What a name that no passage has takes off the sum: "a server in Python" is not about one in another language. */
export const ABSENT_NAME = 4
/** What a passage about another number or variant than the question loses of its order, and keeps of its score. */
export const OTHER_NAME = { order: 2, share: 0.1 } as const
/** The highest probability: some questions have all their words in a passage that does not answer them. */
export const MOST = 0.98
/** Passages that are added to those of an index: in the smallest ones their number means little. */
export const MORE_PASSAGES = 10
/** The same for the words of a passage, in their order. */
export const MORE_WORDS = 10
/** Passages of which one has to have the number, date or price that is asked for. */
export const KIND_PASSAGES = 3
/** The regression for a passage with a vector; `words` is the weight of the sum above, but at least of `leastWords`. */
export const MEANING = { words: 0.37, leastWords: -10, likeness: 6.43, constant: -0.72 } as const

// The kind of answer that is asked for

/** The value of a digit where a date is asked for, and of a number without a word of the question behind it. */
export const OTHER_NUMBER = 0.6
/** That of a number of what the question counts: "five active keys" for "how many keys". */
export const COUNT = 2
/** Words between a number and what it counts: "five active keys". */
export const COUNTED_WITHIN = 3
/** Letters of a name of a day or month that also begins longer words, and of what these add: "Mittwochs". */
export const MIN_NAME = 5
export const MAX_NAME_REST = 3
