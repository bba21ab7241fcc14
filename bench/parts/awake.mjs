/**
 * Keeps this process from sleeping while `work` runs. Otherwise the server's writes include the cost of waking the load
 * generator (on a virtual machine as much as the rest of a short request), more often for the slower of two servers.
 */
export async function awake (work) {
  let working = true
  const turn = () => { if (working) setImmediate(turn) }
  turn()
  try {
    return await work()
  } finally {
    working = false
  }
}
