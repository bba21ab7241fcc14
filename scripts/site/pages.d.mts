export const root: string
export function sitePages (): Map<string, string>
export function toSitePage (file: string, pages: ReadonlyMap<string, string>): string
export function siteLink (file: string, target: string, pages: ReadonlyMap<string, string>): string
export function sitePictures (): string[]
export function siteContents (pages: ReadonlyMap<string, string>): Array<[heading: string, links: Array<[title: string, link: string]>]>
