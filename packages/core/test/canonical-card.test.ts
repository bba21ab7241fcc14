import { test } from 'tap'
import { canonicalCard, canonicalJson } from '../src/plugin.js'

test('canonical JSON is that of RFC 8785', t => {
  // the example of its section 3.2.2 and 3.2.3, less what JSON.parse cannot distinguish
  t.equal(canonicalJson({ numbers: [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], string: '€$\u000f\nA\'B"\\\\"/', literals: [null, true, false] }),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}')
  t.equal(canonicalJson({ '€': 1, '\r': 2, 1: 3, '😀': 4, ö: 5, b: undefined }), '{"\\r":2,"1":3,"ö":5,"€":1,"😀":4}')
  t.end()
})

test('the canonical form of a card has the members that the protocol defines, and default values only where they are explicit', t => {
  const card = {
    name: 'Example Agent',
    description: '',
    supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    provider: null,
    capabilities: { streaming: false, pushNotifications: false, extensions: [], stateTransitionHistory: true },
    securitySchemes: { o: { type: 'oauth2', oauth2SecurityScheme: { description: '', flows: { clientCredentials: { tokenUrl: 'https://a.example/t', refreshUrl: '', scopes: {} } } } } },
    securityRequirements: [{ schemes: { o: { list: [] } } }],
    skills: [],
    signatures: [{ protected: 'x', signature: 'y' }],
    protocolVersion: '0.3.0',
    url: 'https://a.example/old'
  }
  t.strictSame(canonicalCard(card), {
    name: 'Example Agent',
    description: '',
    supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: false, pushNotifications: false },
    securitySchemes: { o: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: 'https://a.example/t', scopes: {} } } } } },
    securityRequirements: [{ schemes: { o: {} } }],
    skills: []
  })
  // the example of section 8.4.1 of A2A
  const { name, description, capabilities, skills } = card
  t.equal(canonicalJson(canonicalCard({ name, description, capabilities, skills })),
    '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}')
  t.end()
})

test('values of types that a card does not have, and members of extensions, stay unchanged', t => {
  const params = { empty: '', list: [], no: false, nested: {} }
  t.strictSame(canonicalCard({ name: 7, skills: 'none', capabilities: { extensions: [{ uri: '', required: false, params }] } }), { name: 7, capabilities: { extensions: [{ params }] }, skills: 'none' })
  t.end()
})
