/**
 * The contender without a queue: signs and sends each event immediately, which is the minimum cost on this machine.
 */
import type { Contender } from "../Contender.ts"
import { jobOf, SignedPost } from "../SignedPost.ts"

export const contender: Contender = {
  title: "no queue: signed and sent, nothing stored",
  storage: "none",
  batch: 64,
  publishers: 4,
  open: (place) => {
    const post = new SignedPost(place)
    return Promise.resolve({
      publish: async (numbers) => {
        await Promise.all(numbers.map((n) => post.send(jobOf(n))))
      },
      settled: () => Promise.resolve(post.answered),
      close: () => post.close()
    })
  }
}
