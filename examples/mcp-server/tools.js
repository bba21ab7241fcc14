// A small shop's tools. The schemas are TypeBox: the plugin publishes them and validates arguments with them.
import { defineTools } from '@polyvac/mcp-server'
import { Type } from '@sinclair/typebox'
import { setTimeout as delay } from 'node:timers/promises'

const stock = new Map([['green tea', 12], ['black tea', 0]])

export const tools = defineTools([
  {
    name: 'in_stock',
    title: 'Look up the stock',
    description: 'How many packets of a tea there are.',
    inputSchema: Type.Object({ tea: Type.String({ description: 'such as "green tea"' }) }),
    outputSchema: Type.Object({ tea: Type.String(), packets: Type.Integer() }),
    annotations: { readOnlyHint: true },
    handler ({ tea }) {
      const packets = stock.get(tea)
      // an error with a status below 500 is sent to the caller
      if (packets === undefined) throw Object.assign(new Error(`there is no ${tea} here; there is ${[...stock.keys()].join(', ')}`), { statusCode: 404, code: 'NO_SUCH_TEA' })
      return { tea, packets }
    }
  },
  {
    name: 'brew',
    description: 'Brews a pot and reports its progress.',
    inputSchema: Type.Object({ tea: Type.String(), minutes: Type.Integer({ minimum: 1, maximum: 5 }) }),
    async handler ({ tea, minutes }, { progress, signal }) {
      for (let minute = 1; minute <= minutes; minute++) {
        if (signal.aborted) throw signal.reason
        // this tea brews faster than others
        await delay(10)
        await progress({ progress: minute, total: minutes, message: `${minute} of ${minutes} minutes` })
      }
      return `A pot of ${tea} is ready.`
    }
  },
  {
    name: 'order',
    description: 'Orders tea, once the caller has said yes.',
    inputSchema: Type.Object({ tea: Type.String() }),
    async handler ({ tea }, { ask }) {
      // ask before you change anything: from revision 2026-07-28 on the handler runs again with the answer
      const { sure } = await ask({
        sure: { method: 'elicitation/create', params: { message: `Order ${tea}?`, requestedSchema: { type: 'object', properties: { packets: { type: 'integer', minimum: 1 } }, required: ['packets'] } } }
      })
      return sure.action === 'accept' ? `Ordered ${sure.content.packets} packets of ${tea}.` : 'Nothing was ordered.'
    }
  }
])
