import type {
  ApprovalRecords, ConversationRecords, DeliverOptions, DeliveryHandler, ReplicaLink, SharedCounts, SharedValues, SignInRecords, TaskHandler, TaskStore, TaskWorker, WorkOptions
} from '@polyvac/tasks'

/** A store that passes everything on to another one. */
export abstract class ForwardingStore implements TaskStore {
  protected abstract get inner (): TaskStore

  get replicas (): ReplicaLink | undefined { return this.inner.replicas }
  get shared (): SharedValues | undefined { return this.inner.shared }
  get counts (): SharedCounts | undefined { return this.inner.counts }
  get conversations (): ConversationRecords | undefined { return this.inner.conversations }
  get approvals (): ApprovalRecords | undefined { return this.inner.approvals }
  get signIns (): SignInRecords | undefined { return this.inner.signIns }

  async open (): Promise<void> { await this.inner.open() }
  async close (): Promise<void> { await this.inner.close() }
  async health (): ReturnType<TaskStore['health']> { return await this.inner.health() }
  async backlog (): ReturnType<TaskStore['backlog']> { return await this.inner.backlog() }
  async create (...args: Parameters<TaskStore['create']>): ReturnType<TaskStore['create']> { return await this.inner.create(...args) }
  async get (...args: Parameters<TaskStore['get']>): ReturnType<TaskStore['get']> { return await this.inner.get(...args) }
  async head (...args: Parameters<TaskStore['head']>): ReturnType<TaskStore['head']> { return await this.inner.head(...args) }
  async ownerOf (id: string): Promise<string | undefined> { return await this.inner.ownerOf?.(id) }
  async list (...args: Parameters<TaskStore['list']>): ReturnType<TaskStore['list']> { return await this.inner.list(...args) }
  async cancel (...args: Parameters<TaskStore['cancel']>): ReturnType<TaskStore['cancel']> { return await this.inner.cancel(...args) }
  async provideInput (...args: Parameters<TaskStore['provideInput']>): ReturnType<TaskStore['provideInput']> { return await this.inner.provideInput(...args) }
  events (...args: Parameters<TaskStore['events']>): ReturnType<TaskStore['events']> { return this.inner.events(...args) }
  async markRead (...args: Parameters<TaskStore['markRead']>): ReturnType<TaskStore['markRead']> { await this.inner.markRead(...args) }
  async lastRead (...args: Parameters<TaskStore['lastRead']>): ReturnType<TaskStore['lastRead']> { return await this.inner.lastRead(...args) }
  async setPush (...args: Parameters<TaskStore['setPush']>): ReturnType<TaskStore['setPush']> { return await this.inner.setPush(...args) }
  async getPush (...args: Parameters<TaskStore['getPush']>): ReturnType<TaskStore['getPush']> { return await this.inner.getPush(...args) }
  async listPush (...args: Parameters<TaskStore['listPush']>): ReturnType<TaskStore['listPush']> { return await this.inner.listPush(...args) }
  async deletePush (...args: Parameters<TaskStore['deletePush']>): ReturnType<TaskStore['deletePush']> { return await this.inner.deletePush(...args) }
  async delete (...args: Parameters<TaskStore['delete']>): ReturnType<TaskStore['delete']> { return await this.inner.delete(...args) }
  async purge (...args: Parameters<TaskStore['purge']>): ReturnType<TaskStore['purge']> { return await this.inner.purge(...args) }
  work (handler: TaskHandler, options?: WorkOptions): TaskWorker { return this.inner.work(handler, options) }
  deliver (handler: DeliveryHandler, options?: DeliverOptions): TaskWorker { return this.inner.deliver(handler, options) }
}
