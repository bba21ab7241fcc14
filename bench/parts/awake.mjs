/**
 * Keeps this process from sleeping while `work` runs. Otherwise the server's writes pay for waking the load generator
 * (on a virtual machine as much as the rest of a short request), and the slower of two servers pays it more often.
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
