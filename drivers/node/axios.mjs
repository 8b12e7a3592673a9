// axios: one instance; an Agent keeps the connections.
import axios from 'axios'
import { calls } from './calls.mjs'
import { agent, run } from './kit.mjs'

const axiosClient = (job) => {
  const httpAgent = agent(job)
  const { timeout_ms: timeout, method } = job
  const headers = { accept: '*/*', ...job.headers } // its own prefers JSON
  const client = axios.create({ httpAgent, httpsAgent: httpAgent, timeout, headers, responseType: 'arraybuffer', proxy: false, validateStatus: null })
  const send = async (url) => {
    const { status, data } = await client.request({ method, url })
    return { status, body: data }
  }
  return { send, close: () => httpAgent.destroy() }
}

const call = calls({
  words: ['method', 'body', 'fields', 'timeout', 'redirects', 'gzip', 'userinfo'],
  open: () => axios.create({ responseType: 'arraybuffer', validateStatus: null }),
  make: async (client, { method, url, fields: headers, body: data, timeout, follow }) => {
    const response = await client.request({ method, url, headers, data, timeout, ...(follow === false && { maxRedirects: 0 }) })
    return { status: response.status, body: response.data }
  }
})

run(axiosClient, { call, name: 'axios', version: axios.VERSION, engine: 'node:http, follow-redirects' })
