/** Months, in the languages of the stemmers. */
const MONTH = 'jan|feb|mar|apr|ma[iyj]|ju[nl]|aug|ago|sep|o[ck]t|nov|de[cz]|fév|avr|juin|août|ene|abr|gen|mag|giu|lug|set|dic|янв|фев|мар|апр|ма[йя]|ию[нл]|авг|сен|окт|ноя|дек|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara'
const NUMBER = /\p{N}|(?<!\p{L})(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|hundred|thousand|million|half|once|twice|none|every)(?!\p{L})/iu
const DATE = new RegExp(`\\p{N}|(?<!\\p{L})(?:${MONTH})\\p{L}{0,6}(?!\\p{L})|(?<!\\p{L})(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|noon|midnight|morning|evening|night|spring|summer|autumn|winter)(?!\\p{L})`, 'iu')

/** Question words, and what an answer to them has. */
const KINDS: readonly (readonly [RegExp, 'number' | 'date' | 'name'])[] = [
  [/\bhow (?:many|much|long|often|far|old|big|large|high|tall|deep|heavy|fast)\b|\bwie (?:viele?|lange|oft|weit|alt|hoch|groß)\b|\bcombien\b|cu[aá]nt[oa]s?\b|\bquant[oiae]s?\b|\bhoeveel\b|сколько|(?<!\p{L})kaç(?!\p{L})|(?<!\p{L})كم(?!\p{L})|कितन|多少|几|いくら|何(?:人|回|時間|円)|กี่|เท่าไ/iu, 'number'],
  [/\bwhen\b|\bwhat (?:year|date|time|day)\b|\bwann\b|\bquand\b|cu[aá]ndo\b|\bquando\b|\bwanneer\b|когда|ne zaman|متى|(?<!\p{L})कब(?!\p{M})|什么时候|何时|いつ|何時|เมื่อ/iu, 'date'],
  [/\b(?:who|whom|whose|where)\b|\b(?:wer|wen|wem|wo|woher|wohin)\b|\bqui\b|\boù\b|qui[eé]n(?:es)?\b|d[oó]nde\b|\bchi\b|\bdove\b|\bquem\b|\bonde\b|\bwie is\b|\bwaar\b|(?<!\p{L})(?:кто|где|куда)(?!\p{L})|(?<!\p{L})kim(?!\p{L})|nerede/iu, 'name']
]

/** A test whether a text has the kind of answer that a question asks for: a number, a date, a name of something new. */
export function answerKind (question: string): (text: string) => boolean {
  const kind = KINDS.find(([asks]) => asks.test(question))?.[1]
  if (kind === 'number') return text => NUMBER.test(text)
  if (kind === 'date') return text => DATE.test(text)
  if (kind === undefined) return () => false
  const asked = question.toLowerCase()
  return text => Array.from(text.matchAll(/(?<=\S\s+["'(“‘]?)\p{Lu}[\p{L}\p{N}]+/gu)).some(([name]) => !asked.includes(name.toLowerCase()))
}
