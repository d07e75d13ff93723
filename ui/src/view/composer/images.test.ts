import { describe, expect, it } from 'vitest'
import { MaxImageBytes } from '../../contract/gen'
import { stageImages } from './images'

describe('stageImages', () => {
  it('takes an image without the prefix of its data URL', async () => {
    const [image] = await stageImages([new File(['hi'], 'a.png', { type: 'image/png' })])
    expect(image).toMatchObject({
      refusal: '',
      attachment: { media_type: 'image/png', data_base64: btoa('hi'), name: 'a.png' },
    })
  })
  it('refuses a file above 5 MB with its name, and takes one of exactly 5 MB', async () => {
    const file = (size: number) =>
      new File([new Uint8Array(size)], 'big.png', { type: 'image/png' })
    const [over, exact] = await stageImages([file(MaxImageBytes + 1), file(MaxImageBytes)])
    expect(over?.refusal).toBe('big.png is larger than 5 MB')
    expect(over?.attachment).toBeUndefined()
    expect(exact?.refusal).toBe('')
  })
})
