// The functions of the shop. A handler gets arguments that fit `inputSchema`.
const EUROS_PER_100_GRAMS = { green: 6.5, black: 4 }

export const tools = [{
  name: 'price',
  description: 'The price of tea in euros',
  inputSchema: {
    type: 'object',
    properties: { tea: { enum: Object.keys(EUROS_PER_100_GRAMS) }, grams: { type: 'integer', minimum: 1 } },
    required: ['tea', 'grams']
  },
  annotations: { readOnlyHint: true },
  handler: ({ tea, grams }) => `${(EUROS_PER_100_GRAMS[tea] * grams / 100).toFixed(2)} €`
}, {
  name: 'cancel_order',
  description: 'Cancel an order',
  inputSchema: { type: 'object', properties: { order: { type: 'integer', minimum: 1 } }, required: ['order'] },
  annotations: { destructiveHint: true },
  handler: ({ order }) => `Order ${order} is cancelled.`
}]
