import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { isObject } from '../shared/fields.js'
import { fieldOf, initialValue, readText, variantOf, withEntry, type Schema } from './json-schema.js'

interface FieldProps {
  readonly schema: unknown
  readonly root: unknown
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly label: string
  /** Names of the properties from the root, joined with dots: the id of the control. */
  readonly path: string
  readonly isRequired: boolean
  /** Keeps which variants a person chose, by their paths. */
  readonly choices: Map<string, number>
  readonly depth?: number
}

const text = (value: unknown): string => typeof value === 'string' ? value : ''

/** The controls for a JSON Schema. `onChange` gets the whole value; undefined leaves it out. */
export function SchemaField ({ schema, root, value, onChange, label, path, isRequired, choices, depth = 0 }: FieldProps): JSX.Element {
  const chosen = useSignal<number | undefined>(undefined)
  const field = fieldOf(schema, root, depth)
  const title = `${text(field.schema.title) || label}${isRequired ? '' : ' (optional)'}`
  const testId = `field-${path}`
  const hint = text(field.schema.description)
  const common = { id: testId, 'data-testid': testId, 'aria-describedby': hint === '' ? undefined : `${testId}-hint` }
  const note = hint === '' ? null : <small id={`${testId}-hint`} class='soft'>{hint}</small>
  const child = (childSchema: unknown, key: string | number, childLabel: string, childRequired: boolean): JSX.Element => (
    <SchemaField
      key={key} schema={childSchema} root={root} label={childLabel} isRequired={childRequired} choices={choices} depth={depth + 1} path={path === '' ? String(key) : `${path}.${key}`}
      value={isObject(value) || Array.isArray(value) ? (value as Record<string, unknown>)[key] : undefined}
      onChange={next => onChange(withEntry(value, key, Array.isArray(value) ? next ?? null : next))}
    />
  )
  const remove = <button type='button' data-testid={`${testId}-remove`} onClick={() => onChange(undefined)}>Remove {label}</button>
  const isContainer = field.kind === 'object' || field.kind === 'array' || field.kind === 'choice'
  if (isContainer && value === undefined && !(isRequired && field.kind === 'object' && depth === 0)) {
    const add = (): void => { chosen.value = undefined; choices.delete(path); onChange(initialValue(schema, root, true, depth) ?? (field.kind === 'choice' ? null : {})) }
    return <div class='field'><button type='button' data-testid={`${testId}-add`} onClick={add}>Add {title}</button> {note}</div>
  }
  if (field.kind === 'object') {
    return (
      <fieldset data-testid={testId}>
        <legend>{title}</legend>{note}
        {field.entries.map(({ name, schema, isRequired }) => child(schema, name, name, isRequired))}
        {!isRequired && remove}
      </fieldset>
    )
  }
  if (field.kind === 'array') {
    const items = Array.isArray(value) ? value : []
    return (
      <fieldset data-testid={testId}>
        <legend>{title}</legend>{note}
        {items.map((_, i) => <div key={i}>{child(field.items, i, `${label} ${i + 1}`, true)}<button type='button' data-testid={`${testId}.${i}-remove`} aria-label={`Remove ${label} ${i + 1}`} onClick={() => onChange(withEntry(value, i, undefined))}>Remove</button></div>)}
        <button type='button' data-testid={`${testId}-item`} onClick={() => onChange([...items, initialValue(field.items, root, true, depth + 1) ?? null])}>Add an item</button>
        {!isRequired && remove}
      </fieldset>
    )
  }
  if (field.kind === 'choice') {
    const index = chosen.value ?? variantOf(field.variants, root, value)
    const variant = field.variants[index] ?? {}
    const select = (next: number): void => { chosen.value = next; choices.set(path, next); onChange(initialValue(field.variants[next], root, true, depth + 1) ?? null) }
    return (
      <fieldset>
        <legend>{title}</legend>{note}
        <label>Form of {label}
          <select {...common} value={index} onChange={event => select(Number(event.currentTarget.value))}>
            {namesOf(field.variants).map((name, i) => <option key={i} value={i}>{name}</option>)}
          </select>
        </label>
        <SchemaField
          key={index} schema={variant} root={root} label={label} isRequired choices={choices} depth={depth + 1} path={`${path}.value`}
          value={value === null && variant.type !== 'null' ? undefined : value} onChange={next => onChange(next ?? (isRequired ? null : undefined))}
        />
        {!isRequired && remove}
      </fieldset>
    )
  }
  return <div class='field'><label>{title}<Leaf field={field} common={common} value={value} onChange={onChange} /></label>{note}</div>
}

function Leaf ({ field, common, value, onChange }: {
  readonly field: Exclude<ReturnType<typeof fieldOf>, { kind: 'object' | 'array' | 'choice' }>
  readonly common: object
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}): JSX.Element {
  const { kind, schema } = field
  const shown = String(value ?? '')
  // chosen once: another element would lose the focus of what is typed
  const isLong = useMemo(() => shown.length > 60 || shown.includes('\n') || Number(schema.maxLength) > 200, [])
  if (kind === 'values') {
    const index = field.values.findIndex(one => JSON.stringify(one) === JSON.stringify(value))
    return (
      <select {...common} value={index} onChange={event => onChange(field.values[Number(event.currentTarget.value)])}>
        <option value={-1}>not set</option>
        {field.values.map((one, i) => <option key={i} value={i}>{text(field.titles?.[i]) || (typeof one === 'string' ? one : JSON.stringify(one))}</option>)}
      </select>
    )
  }
  if (kind === 'number') {
    return <input {...common} type='number' step='any' value={shown} onInput={event => onChange(readText(kind, event.currentTarget.value))} />
  }
  if (kind === 'text') {
    const onInput = (event: { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }): void => onChange(readText(kind, event.currentTarget.value))
    if (schema.format === 'password') return <input {...common} type='password' autocomplete='off' value={shown} onInput={onInput} />
    return isLong
      ? <textarea {...common} value={shown} onInput={onInput} />
      : <input {...common} value={shown} onInput={onInput} />
  }
  return <JsonText common={common} value={value} onChange={onChange} />
}

/** A value without a form: JSON. A text that is not JSON changes nothing, and the control reports it. */
function JsonText ({ common, value, onChange }: { readonly common: object, readonly value: unknown, readonly onChange: (value: unknown) => void }): JSX.Element {
  const written = useSignal(value === undefined ? '' : JSON.stringify(value))
  const read = (area: HTMLTextAreaElement): void => {
    written.value = area.value
    try {
      onChange(area.value.trim() === '' ? undefined : JSON.parse(area.value))
      area.setCustomValidity('')
    } catch {
      area.setCustomValidity('This is not JSON.')
    }
  }
  return <textarea {...common} placeholder='JSON' value={written} onInput={event => read(event.currentTarget)} />
}

/** Distinct names of variants. */
function namesOf (variants: readonly Schema[]): string[] {
  const names = variants.map(({ title, const: constant, type, properties }) => {
    const parts = isObject(properties) ? Object.entries(properties).slice(0, 4).map(([name, one]) => isObject(one) && 'const' in one ? `${name} ${String(one.const)}` : name) : []
    return text(title) || text(constant) || (parts.length > 0 ? `object with ${parts.join(', ')}` : text(type) || 'variant')
  })
  return names.map((name, i) => names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} ${i + 1}`)
}
