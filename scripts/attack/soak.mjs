// Half a minute of the mixed traffic of `npm run soak`.
import { soak } from '../soak.mjs'

export const group = {
  entries: () => [{
    name: 'mixed traffic with aborts',
    async attack () {
      const { requests, problems, text } = await soak({ minutes: 0.5 })
      return { tried: requests, problems, note: text }
    },
    holds: ({ problems }) => problems
  }]
}
